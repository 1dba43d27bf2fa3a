"""Rows of new data that are kept with what was said of them, and which of them wait for an answer.

Each input that was watched has one Parquet file in the folder `alarms`, written before the event that names it; all of
them are one table. An answer to such a row counts when its input is long gone: the row itself is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.errors import DamagedError
from soel.files import make_folder, replacing
from soel.records import BESIDE
from soel.session.folder import SessionFolder
from soel.types import Booleans

if TYPE_CHECKING:
    from soel.session.state import SessionState

FOLDER = "alarms"
DAYS = 30  # for which a row waits for an answer, and that a proven figure is about
QUESTIONS = ("check", "outside", "alarm")  # why a row is asked about, in the order of the sheet


@dataclass(frozen=True)
class Night:
    """One input that was watched, as its event has it.

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

alarm_id: the digest of the input and the row's number in it, from 1. name: what the data call the row.
alarm, drawn, sampled, outside: whether it raised an alarm, was drawn by chance to be checked, was drawn by chance
whatever its score to stand for its input in the next pool, is like no row of the pool.
group, why: the column that its reason begins with, and the reason in
a sentence; empty for none. cells: the row's own columns as JSON. features: as it was encoded, (d,).
"""


def write_kept(place: SessionFolder, name: str, columns: Mapping[str, Any]) -> None:
    """Write the kept rows of one input; they count once an event names the file."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    folder = place.path / FOLDER
    if not folder.is_dir():
        make_folder(folder, private=True)
    features = np.asarray(columns["features"], np.float32)
    values = arrow.array(features.ravel()) if features.size else arrow.array([], arrow.float32())
    lists = arrow.FixedSizeListArray.from_arrays(values, features.shape[1])
    table = arrow.table({**columns, "features": lists}).select(list(COLUMNS))
    with replacing(folder / name, private=True) as file:
        parquet.write_table(table, file)


def read_kept(place: SessionFolder, nights: Sequence[Night], columns: Sequence[str] = COLUMNS) -> Any:
    """The kept rows of these nights as one Arrow table, in the order of the nights; None where there are none."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    tables = []
    for night in nights:
        path = place.path / FOLDER / night.part
        if not night.part:
            continue
        try:
            tables.append(parquet.read_table(path, columns=list(columns)))
        except FileNotFoundError as error:
            raise DamagedError(f"{path} is missing; restore it from a copy.") from error
        except (OSError, arrow.ArrowException) as error:
            raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error
    return arrow.concat_tables(tables) if tables else None


def find_kept(place: SessionFolder, nights: Sequence[Night], ids: Collection[str]) -> set[str]:
    """Which of these ids are those of kept rows. Only files of inputs that an id can come from are read."""
    starts = {item.rpartition("-")[0] for item in ids}
    table = read_kept(place, [night for night in nights if short(night.digest) in starts], ["alarm_id"])
    return set() if table is None else set(ids) & set(table["alarm_id"].to_pylist())


def find_selected(place: SessionFolder, state: SessionState) -> Booleans | None:
    """Which items of the pool (N,) joined it because of their scores: answered alarms; None where none did."""
    table, chosen = read_kept(place, state.nights, ["alarm_id", "sampled"]), set(state.adopted)
    if table is not None:
        chosen |= {item for item, sampled in zip(*table.to_pydict().values(), strict=True) if not sampled}
    if not chosen:
        return None
    selected = np.array([item in chosen for item in place.ids], bool)
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
    table = read_kept(place, recent_nights(state.nights), [*columns, "alarm_id", "alarm", "drawn", "outside"])
    found = []
    for at, row in enumerate([] if table is None else table.to_pylist()):
        if row["alarm_id"] in state.answers:
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
