"""Scores as people read them: items under the names they know, most anomalous first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from soel.assess.conformal import UnsureBand
from soel.images.decode import SUFFIXES as PICTURE_SUFFIXES
from soel.images.items import MediaItem, Skipped
from soel.session import ScoreResult, SessionState
from soel.tables.write import check_length, check_suffix, write_parquet, write_table
from soel.types import Floats

COLUMNS = ("rank", "score", "probability", "p_value", "alarm", "not_sure", "label", "who")
N_TOP = 10
Names = Mapping[str, Sequence[Any]]
Answers = Mapping[str, tuple[str, str]]  # of an item: its label as a word, and who said so last


@dataclass(frozen=True)
class ScoreTable:
    """Columns by name, all of one length, sorted by rank."""

    columns: Mapping[str, list[Any]]

    def __len__(self) -> int:
        return len(self.columns["rank"])

    def rows(self, n: int | None = None) -> list[dict[str, Any]]:
        """The first `n` rows, or all of them."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.head(n), strict=True)]

    def head(self, n: int | None) -> list[list[Any]]:
        """The columns, cut after `n` rows."""
        return [column[:n] for column in self.columns.values()]

    def with_left_out(self, skipped: Sequence[Skipped]) -> ScoreTable:
        """The same with files that could not be read as rows behind, each with the reason in a column `left_out`."""
        if not skipped:
            return self
        names = name_pictures([MediaItem("", file.name) for file in skipped])
        reasons = {"left_out": [*[None] * len(self), *(file.reason for file in skipped)]}
        empty: list[Any] = [None] * len(skipped)
        before = {name: [None] * len(self) for name in names if name not in self.columns and name != "id"}
        columns = {name: [*values, *names.get(name, empty)] for name, values in (before | dict(self.columns)).items()}
        return ScoreTable(columns | reasons)

    def summary(self, out: Path) -> dict[str, Any]:
        """What a command says about it."""
        alarms = sum(self.columns["alarm"])
        return {"out": str(out), "n_items": len(self), "n_alarms": alarms, "top": self.rows(N_TOP)}

    def write(self, out: Path) -> None:
        """Write it in the form that the suffix says."""
        check_length(out, len(self))
        if check_suffix(out) == ".parquet":
            write_parquet(out, self.columns)
        else:
            write_table(out, list(self.columns), zip(*self.columns.values(), strict=True))


def build_score_table(
    scored: ScoreResult,
    names: Names,
    answers: Answers,
    probabilities: Floats | None = None,
    cells: Mapping[str, Iterable[Any]] | None = None,
    p_values: Floats | None = None,
    unsure: UnsureBand | None = None,
) -> ScoreTable:
    """The scores of items with what they are called and what was said about them.

    names: columns that say what each item is called, in the order of the scores. answers: label and name by item.
    probabilities: (n,) of being an anomaly, p_values: (n,) how often a normal item scores as high; None where the model
    does not know. cells: the items' own columns, to be written behind. unsure: scores of items that are not sure,
    unless they have a label.
    """
    labels, who = (
        zip(*(answers.get(item, (None, None)) for item in scored.ids), strict=True) if scored.ids else ((), ())
    )
    own = {
        "rank": scored.ranks.tolist(),
        "score": scored.scores.tolist(),
        "probability": [None] * len(scored.ids) if probabilities is None else probabilities.tolist(),
        "p_value": [None] * len(scored.ids) if p_values is None else p_values.tolist(),
        "alarm": scored.is_anomaly.tolist(),
        "not_sure": [None] * len(scored.ids) if unsure is None else _not_sure(unsure, scored.scores, labels),
        "label": labels,
        "who": who,
    }
    order = np.argsort(scored.ranks, kind="stable").tolist()
    columns = {free_name(name, own): list(values) for name, values in names.items()} | own
    columns |= {free_name(name, columns): list(values) for name, values in (cells or {}).items() if name not in names}
    return ScoreTable({name: [values[row] for row in order] for name, values in columns.items()})


def _not_sure(unsure: UnsureBand, scores: Floats, labels: Sequence[str | None]) -> list[bool]:
    """A label leaves nothing open."""
    return [bool(within) and label is None for within, label in zip(unsure.holds(scores), labels, strict=True)]


def labels_by_item(state: SessionState) -> Answers:
    """The label of each labelled item as a word, and who said so last."""
    return {item: (label.word, state.answers[item].who) for item, label in state.labels.items()}


def name_rows(
    ids: Sequence[str], id_column: str | None, called: tuple[str, Sequence[Any]] | None = None
) -> dict[str, Sequence[Any]]:
    """Rows of a table: the id column under its own name; without one, the number of the row, from 1, and its id.

    called: a column that was recognised as names of the rows.
    """
    if id_column is not None:
        return {id_column: ids}
    names: dict[str, Sequence[Any]] = {"row": range(1, len(ids) + 1), "id": ids}
    return names if called is None else names | {free_name(called[0], (*names, *COLUMNS)): called[1]}


def name_pictures(items: Sequence[MediaItem]) -> dict[str, Sequence[Any]]:
    """Pictures by file and folder, frames by clip and second, others by what they are called."""
    paths = [PurePosixPath(item.name) if _is_file(item) else None for item in items]
    columns: dict[str, Sequence[Any]] = {
        "file": [None if path is None else path.name for path in paths],
        "folder": [None if path is None or len(path.parts) == 1 else str(path.parent) for path in paths],
        "name": [
            item.name if path is None and not item.clip else None for item, path in zip(items, paths, strict=True)
        ],
        "clip": [item.clip or None for item in items],
        "second": [item.time for item in items],
        "id": [item.id for item in items],
    }
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def _is_file(item: MediaItem) -> bool:
    return PurePosixPath(item.name).suffix.lower() in PICTURE_SUFFIXES


def free_name(name: str, taken: Collection[str]) -> str:
    """The name of a data's column, told apart from those of the scores."""
    return f"data {name}" if name in taken else name
