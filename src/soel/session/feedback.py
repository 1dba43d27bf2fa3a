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
from typing import Any

import numpy as np

from soel.files import explain, hold_lock
from soel.session.alarms import find_kept, read_kept
from soel.session.config import NewPool, PoolRef
from soel.session.events import Answer
from soel.session.folder import SessionFolder
from soel.session.growth import add_data, change_pool
from soel.session.item_tables import schema_of
from soel.session.labels import grow_budget
from soel.session.session import Session
from soel.session.standing import TellResult
from soel.session.state import SessionState
from soel.tables.rows import write_parquet

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
    """Take rows of alarms that were answered into the pool, so that the next fit learns from them.

    Returns the pool with rows that came with their answers; None without any.
    A pool that is a sample of larger data is left as it is, and they go on waiting: they were not drawn.
    """
    _take_in_kept(session)
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


def _take_in_kept(session: Session) -> None:
    """Let answered rows join the pool, and rows that were sampled by chance replace its oldest unlabelled ones."""
    place = session.folder
    table = read_kept(place, session.state.nights, ["alarm_id", "sampled", "cells", "features"])
    rows = [] if table is None else table.to_pylist()
    known, labels = set(session.ids), session.state.labels
    if any(row["alarm_id"] in labels and row["alarm_id"] not in known for row in rows):
        change_pool(session, "owner", lambda state, now: _renew(state, now, rows))


def _renew(state: SessionState, place: SessionFolder, rows: list[dict[str, Any]]) -> NewPool:
    """The pool with new labelled and sampled rows at its end, and no more unlabelled ones than it began with."""
    known = set(place.ids)
    fresh = [
        row for row in rows if row["alarm_id"] not in known and (row["sampled"] or row["alarm_id"] in state.labels)
    ]
    n_unlabelled = sum(row["alarm_id"] not in state.labels for row in fresh)
    free = np.array([item not in state.answers for item in place.ids])
    n_gone = max(0, int(free.sum()) + n_unlabelled - place.config.n_items)
    keep = np.ones(len(place.ids), bool)
    keep[np.flatnonzero(free)[:n_gone]] = False  # new rows stand at the end, so the first are the oldest
    gone = [item for item, stays in zip(place.ids, keep.tolist(), strict=True) if not stays]
    ids, number = [row["alarm_id"] for row in fresh], len(place.pools) + 1
    cells = [json.loads(row["cells"]) for row in fresh]
    id_column = place.config.id_column
    names = list(dict.fromkeys(name for each in cells for name in each))
    columns = {name: [each.get(name) for each in cells] for name in names}
    if id_column is not None:
        columns[id_column] = ids
    features = np.array([row["features"] for row in fresh], np.float32).reshape(len(fresh), place.pool.shape[1])
    origin = np.stack([np.full(len(fresh), number), np.arange(len(fresh))], axis=1)
    ref = PoolRef(what="add", data="watched rows", n_added=len(ids), n_removed=len(gone))
    return NewPool(
        [*(item for item in place.ids if item not in set(gone)), *ids],
        np.concatenate([place.pool[keep], features]),
        np.concatenate([place.rows[keep], origin]),
        ref,
        removed=gone,
        write=lambda folder: write_parquet(folder / "source.parquet", columns),
    )
