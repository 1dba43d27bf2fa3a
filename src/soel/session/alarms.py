"""Rows of new data that are kept with what was said of them, and which of them wait for an answer.

The folder `alarms` has a Parquet file for each input that was watched, written before the event that names it, and a
file of lines of JSON for each day on which rows that were sent to the endpoint raised alarms. All of them are one
table. An answer to such a row counts when its input is long gone: the row itself is kept.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.errors import DamagedError
from soel.files import explain, hold_lock, make_folder, replacing
from soel.records import BESIDE
from soel.session.folder import SessionFolder
from soel.types import Booleans

if TYPE_CHECKING:
    from soel.session.state import SessionState

FOLDER = "alarms"
SERVED, LOCK, PATIENCE = "served-{day}.jsonl", ".served.lock", 10.0
MOST_SERVED = 16 << 20  # bytes of the rows that are kept of one day
DAYS = 30  # for which a row waits for an answer, and that a proven figure is about
QUESTIONS = ("check", "outside", "alarm")  # why a row is asked about, in the order of the sheet


@dataclass(frozen=True)
class Night:
    """One input that was watched, as its event has it, or the rows that were sent to the endpoint on one day.

    input, size, changed: name, bytes and time of change (ns) of the file. digest: of its content.
    n_rows, n_alarms: how many, 0 for what was refused. n_outside: rows that are not like any of the pool.
    rates: the probabilities with which alarms and other rows were drawn to be checked. n_moved: drift findings.
    moved: drift in words. model: the folder of the model. part: the file of kept rows. refused: why nothing was scored.
    at: the time of its event.
    """

    input: str
    size: int
    changed: int
    digest: str
    n_rows: int = 0
    n_alarms: int = 0
    n_outside: int = 0
    rates: tuple[float, float] = (0.0, 0.0)
    moved: tuple[str, ...] = ()
    model: str = ""
    part: str = ""
    refused: str = ""
    at: str = field(default="", metadata=BESIDE)


COLUMNS = (
    "alarm_id", "input", "row", "name", "score", "probability", "p_value", "alarm", "drawn", "sampled", "outside",
    "group", "why", "model", "cells", "features",
)  # fmt: skip
"""Of a file of kept rows.

alarm_id: the digest of the input and the row's number in it, from 1; of a row that was sent, its own id. input: the
file, or when the row was sent. name: what the data call the row.
alarm, drawn, sampled, outside: whether it raised an alarm, was drawn by chance to be checked, was drawn by chance
whatever its score to stand for its input in the next pool, is like no row of the pool.
group, why: the column that its reason begins with, and the reason in
a sentence; empty for none. cells: the row's own columns as JSON. features: as it was encoded, (d,).
"""


def write_kept(place: SessionFolder, name: str, columns: Mapping[str, Any]) -> None:
    """Write the kept rows of one input; they count once an event names the file."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    features = np.asarray(columns["features"], np.float32)
    values = arrow.array(features.ravel()) if features.size else arrow.array([], arrow.float32())
    lists = arrow.FixedSizeListArray.from_arrays(values, features.shape[1])
    table = arrow.table({**columns, "features": lists}).select(list(COLUMNS))
    with replacing(_folder(place) / name, private=True) as file:
        parquet.write_table(table, file)


def keep_served(place: SessionFolder, rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep alarms of rows that were sent, each with all of `COLUMNS`; they are on disk when this returns."""
    path = _folder(place) / SERVED.format(day=datetime.now(UTC).date())
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    try:
        with hold_lock(path.with_name(LOCK), PATIENCE):
            path.touch(mode=0o600)
            with path.open("r+b") as file:
                end = file.seek(0, os.SEEK_END)
                if end and os.pread(file.fileno(), 1, end - 1) != b"\n":  # a killed process left a line unfinished
                    end = os.pread(file.fileno(), end, 0).rfind(b"\n") + 1
                if end > MOST_SERVED:
                    _say_full(path)
                    return
                file.truncate(end)
                file.seek(end)
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise explain(error, path, "written") from error


@cache
def _say_full(path: Path) -> None:
    """Once for each file."""
    logging.getLogger("soel").warning("%s is full; no more alarms of this day are kept", path)


def kept_inputs(place: SessionFolder, state: SessionState) -> list[Night]:
    """Everything that rows are kept of, oldest first: inputs that were watched, days of the endpoint."""
    paths = (place.path / FOLDER).glob(SERVED.format(day="*"))
    days = [Night("", 0, 0, "", part=path.name, at=path.stem.removeprefix("served-")) for path in paths]
    return sorted([*state.nights, *days], key=lambda night: night.at)


def _folder(place: SessionFolder) -> Path:
    folder = place.path / FOLDER
    if not folder.is_dir():
        make_folder(folder, private=True)
    return folder


def read_kept(
    place: SessionFolder, nights: Sequence[Night], columns: Sequence[str] = COLUMNS, ids: Collection[str] | None = None
) -> Any:
    """The kept rows of these nights as one Arrow table, in the order of the nights; None where there are none.

    ids: all that is wanted; others may come with them.
    """
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    tables, columns = [], list(dict.fromkeys(columns))
    for night in nights:
        path = place.path / FOLDER / night.part
        if not night.part:
            continue
        try:
            if path.suffix == ".jsonl":
                tables.append(_read_served(path, columns, ids))
            else:
                tables.append(parquet.read_table(path, columns=columns))
        except FileNotFoundError as error:
            raise DamagedError(f"{path} is missing; restore it from a copy.") from error
        except (OSError, arrow.ArrowException) as error:
            raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error
    tables = [table for table in tables if len(table)]
    return arrow.concat_tables(tables, promote_options="permissive") if tables else None


def _read_served(path: Path, columns: Sequence[str], ids: Collection[str] | None) -> Any:
    """The rows of a day; of those with one id the newest, and what is not finished is not kept yet."""
    arrow = import_module("pyarrow")
    lines = path.read_bytes().rpartition(b"\n")[0].splitlines()
    if ids is not None:  # a line begins with its id
        begins = {json.dumps({"alarm_id": item}, ensure_ascii=False)[:-1].encode() for item in ids}
        lines = [line for line in lines if line.partition(b', "input": ')[0] in begins]
    rows = {row["alarm_id"]: row for row in map(json.loads, lines)}
    flags, figures = ("alarm", "drawn", "sampled", "outside"), ("score", "probability", "p_value")
    types = dict.fromkeys(COLUMNS, arrow.string()) | dict.fromkeys(flags, arrow.bool_())
    types |= dict.fromkeys(figures, arrow.float64()) | {"row": arrow.int64()}
    types["features"] = arrow.list_(arrow.float32(), max((len(row["features"]) for row in rows.values()), default=0))
    return arrow.Table.from_pylist(list(rows.values()), arrow.schema([(name, types[name]) for name in columns]))


def find_kept(
    place: SessionFolder, state: SessionState, ids: Collection[str], columns: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """These columns of the kept rows with these ids, but for items that left the pool.

    Only files of inputs that an id can come from are read.
    """
    starts = {item.rpartition("-")[0] for item in ids}
    inputs = [each for each in kept_inputs(place, state) if not each.digest or short(each.digest) in starts]
    table, wanted = read_kept(place, inputs, ["alarm_id", *columns], ids), set(ids) - state.gone
    return {row["alarm_id"]: row for row in ([] if table is None else table.to_pylist()) if row["alarm_id"] in wanted}


def find_selected(place: SessionFolder, state: SessionState) -> Booleans | None:
    """Which items of the pool (N,) joined it because of their scores: answered alarms; None where none did."""
    inputs = kept_inputs(place, state) if len(place.pools) > 1 else []
    table = read_kept(place, inputs, ["alarm_id", "sampled"])
    if table is None:
        return None
    chosen = {item for item, sampled in zip(*table.to_pydict().values(), strict=True) if not sampled}
    selected = np.array([item in chosen for item in place.ids], bool) & (place.rows[:, 0] > 1)  # not from the start
    return selected if selected.any() else None


def short(digest: str) -> str:
    """The part of an input's digest that ids of its rows begin with."""
    return digest[:12]


def recent_nights(nights: Sequence[Night], days: int = DAYS) -> list[Night]:
    """Those of the last days that were scored."""
    since = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    return [night for night in nights if night.part and night.at >= since]


def open_rows(place: SessionFolder, state: SessionState, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Unanswered rows of the last days with these columns and why each is asked about, in the order of `QUESTIONS`.

    Rows that were drawn by chance come first and in the order of the nights: the figures need answers to all of them.
    Then come rows outside the cover, then alarms, the newest night first.
    """
    inputs = recent_nights(kept_inputs(place, state))
    table = read_kept(place, inputs, [*columns, "alarm_id", "alarm", "drawn", "outside"])
    found = []
    for at, row in enumerate([] if table is None else table.to_pylist()):
        if row["alarm_id"] in state.answers or row["alarm_id"] in state.gone:
            continue
        kinds = (row["drawn"], row["outside"], row["alarm"])
        question = next((name for name, holds in zip(QUESTIONS, kinds, strict=True) if holds), None)
        if question is not None:  # others stand for their night in the next pool
            order = -at if question == "alarm" else at
            found.append((QUESTIONS.index(question), order, row | {"question": question}))
    return [row for _, _, row in sorted(found, key=lambda each: each[:2])]


def open_questions(place: SessionFolder, state: SessionState) -> tuple[str, ...]:
    """Kept rows of the last days that are worth an answer beside the alarms: drawn by chance, or outside the cover."""
    return tuple(row["alarm_id"] for row in open_rows(place, state, ()) if row["question"] != "alarm")
