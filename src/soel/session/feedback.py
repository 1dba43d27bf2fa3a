"""Answers to alarms: the row of an alarm is kept until it is answered, also where no file of the session has it.

An answer is the ordinary event of the session. That of a row in no pool carries the row, waits, and counts from the
next fit on, which takes these rows into the pool.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path

from soel.files import explain, hold_lock
from soel.session.alarms import find_kept
from soel.session.answers import Answer
from soel.session.folder import SessionFolder
from soel.session.growth import add_data
from soel.session.item_tables import schema_of
from soel.session.labels import grow_budget
from soel.session.pool import PoolRef
from soel.session.session import Session
from soel.session.standing import TellResult

ALARMS, LOCK = "alarms.jsonl", ".alarms.lock"
MOST_BYTES = 64 << 20  # of a file of alarms; then a new one is begun, and the one before is kept
PATIENCE = 10.0


@dataclass(frozen=True)
class Alarm:
    """A row that raised an alarm. row: its cells as text by column. model: the version that scored it."""

    item: str
    row: Mapping[str, str | None]
    score: float
    model: str
    at: str


def keep_alarms(place: SessionFolder, alarms: Sequence[Alarm]) -> None:
    """Keep alarms until they are answered; they are on disk when this returns."""
    path = place.path / ALARMS
    lines = "".join(json.dumps(asdict(alarm), ensure_ascii=False) + "\n" for alarm in alarms).encode()
    try:
        with hold_lock(place.path / LOCK, PATIENCE):
            if path.exists() and path.stat().st_size > MOST_BYTES:
                path.replace(path.with_suffix(".before.jsonl"))
            path.touch(mode=0o600)
            with path.open("r+b") as file:
                if file.seek(0, os.SEEK_END) and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
                    lines = b"\n" + lines  # after a line that a killed process left unfinished
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise explain(error, path, "written") from error


def find_alarms(place: SessionFolder, items: Collection[str]) -> dict[str, Alarm]:
    """The newest alarm of each of these items that is kept."""
    found: dict[str, Alarm] = {}
    newest = place.path / ALARMS
    for path in (newest.with_suffix(".before.jsonl"), newest):
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
        read = (_read_alarm(line) for line in lines)
        found |= {alarm.item: alarm for alarm in read if alarm is not None and alarm.item in items}
    return found


def _read_alarm(line: str) -> Alarm | None:
    """The alarm of a line; None where it was not finished."""
    try:
        return Alarm(**json.loads(line))
    except (ValueError, TypeError):
        return None


def record_feedback(session: Session, answers: Sequence[tuple[str, Answer]]) -> TellResult:
    """Store what people say of items of the pool and of alarms, all or none; it is on disk when this returns.

    answers: each with who said it. The budget is for questions, so it grows by what nobody was asked.
    """
    before, known = session.state, frozenset(session.ids)
    outside = {answer.item for _, answer in answers} - known
    outside -= find_kept(session.folder, before.nights, outside)  # rows that were watched are kept already
    kept = find_alarms(session.folder, outside) if outside else {}
    rows = {item: kept[item].row for item in kept if item not in before.gone} | dict(before.waiting)
    told = session.take_in([replace(answer, row=rows.get(answer.item)).event(who) for who, answer in answers])
    grow_budget(session, before)
    return told


def adopt_answered(session: Session, who: str = "owner") -> PoolRef | None:
    """Take rows of alarms that were answered into the pool, so that the next fit learns from them; None without any.

    A pool that is a sample of larger data is left as it is, and they go on waiting: they were not drawn.
    """
    before = session.state
    if not before.waiting or session.folder.all_data:
        return None
    given = dict.fromkeys(name for row in before.waiting.values() for name in row)
    schema, arrow = schema_of(session.folder), import_module("pyarrow")
    order = {} if schema is None else schema.by_name  # ids of rows without a name go by the pool's order
    names = [*(name for name in order if name in given), *(name for name in given if name not in order)]
    columns = {name: [row.get(name) for row in before.waiting.values()] for name in names}
    with tempfile.TemporaryDirectory(prefix="soel-alarms-") as folder:
        path = Path(folder) / "alarms.parquet"
        table = arrow.table({name: arrow.array(cells, arrow.string()) for name, cells in columns.items()})
        import_module("pyarrow.parquet").write_table(table, path)
        grown = add_data(session, path, replace=True, who=who)
    grow_budget(session, before)
    return grown
