"""Scores as people read them: items under the names they know, most anomalous first; alarms of clips as events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from soel.images.decode import SUFFIXES as PICTURE_SUFFIXES
from soel.images.image_items import MediaItem, Skipped
from soel.scoring.score import Scores
from soel.session import SessionState
from soel.session.events import join_names
from soel.tables.rows import check_length, check_suffix, write_parquet, write_rows, write_table
from soel.types import Booleans, Floats, Interval

COLUMNS = ("rank", "score", "probability", "p_value", "alarm", "not_sure", "label", "who", "because")
N_TOP = 10
Names = Mapping[str, Sequence[Any]]
Cells = Mapping[str, Iterable[Any]]
Answers = Mapping[str, tuple[str, str, str | None]]  # of an item: its label as a word, who said so last, columns named


@dataclass(frozen=True)
class ScoreTable:
    """Columns by name, all of one length, sorted by rank."""

    columns: Mapping[str, list[Any]]

    @classmethod
    def of(
        cls, scores: Scores, names: Names, answers: Answers, reasons: Names | None = None, cells: Cells | None = None
    ) -> ScoreTable:
        """Scores as `score_columns` has them, in memory."""
        columns = score_columns(scores, names, answers, reasons, cells)
        order = np.argsort(scores.ranks, kind="stable").tolist()
        lists = {name: _as_list(values) for name, values in columns.items()}
        return cls({name: [values[row] for row in order] for name, values in lists.items()})

    def __len__(self) -> int:
        return len(self.columns["rank"])

    def rows(self, n: int | None = None) -> list[dict[str, Any]]:
        """The first `n` rows, or all of them."""
        head = (column[:n] for column in self.columns.values())
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*head, strict=True)]

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


def score_columns(
    scores: Scores, names: Names, answers: Answers, reasons: Names | None = None, cells: Cells | None = None
) -> dict[str, Any]:
    """The columns of a file of scores by name, in the order of the scores.

    names: what each item is called. answers: label and annotator by item. reasons: why items score as they do.
    cells: the items' own columns. A label leaves nothing unsure.
    """
    *told, is_known = _find_answers(scores.ids, answers)
    said = (scores.ranks, scores.scores, scores.probabilities, scores.p_values, scores.alarms)
    own = dict(zip(COLUMNS, (*said, scores.unsure & ~is_known, *told), strict=True))
    columns = {free_name(name, own): values for name, values in names.items()} | own | dict(reasons or {})
    return columns | {free_name(name, columns): each for name, each in (cells or {}).items() if name not in names}


def _find_answers(ids: Any, answers: Answers) -> tuple[Any, Any, Any, Booleans]:
    """Label, annotator and named columns of each item, and whether it has a label.

    Lists for texts, Arrow arrays for an Arrow array.
    """
    if not hasattr(ids, "is_null"):  # a few rows: Arrow would load pandas
        found = [answers.get(item, (None, None, None)) for item in ids]
        label, who, because = ([each[part] for each in found] for part in range(3))
        return label, who, because, np.array([item in answers for item in ids], bool)
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    at = compute.index_in(ids, value_set=arrow.array(list(answers), arrow.string()))
    label, who, because = (
        arrow.array([told[part] for told in answers.values()], arrow.string()).take(at) for part in range(3)
    )
    return label, who, because, ~np.asarray(label.is_null())


def _as_list(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def labels_by_item(state: SessionState) -> Answers:
    """The label of each labelled item as a word, who said so last, and the columns named with it."""
    held = state.answers
    return {
        item: (label.word, held[item].who, join_names(held[item].because) or None)
        for item, label in state.labels.items()
    }


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


# Alarms of clips as events: from when to when, and where the peak is

LONGEST_GAP = 1.0  # seconds without an alarm within one event; or two frames, where these are farther apart


def find_intervals(
    clips: Sequence[str], seconds: Sequence[float], scores: Floats, alarms: np.ndarray
) -> tuple[Interval, ...]:
    """Alarms (n,) of frames that follow one another closely, as one event each; the highest peak first."""
    order = sorted(range(len(clips)), key=lambda row: (clips[row], seconds[row]))
    gap = max(LONGEST_GAP, 2 * _usual_step(clips, seconds, order)) + 1e-9
    groups: list[list[int]] = []
    for row in (row for row in order if alarms[row]):
        last = groups[-1][-1] if groups else None
        if last is not None and clips[last] == clips[row] and seconds[row] - seconds[last] <= gap:
            groups[-1].append(row)
        else:
            groups.append([row])
    found = [_interval(clips, seconds, scores, group) for group in groups]
    return tuple(sorted(found, key=lambda each: -each.score))


def name_intervals(names: Mapping[str, Sequence[Any]], scores: Floats, alarms: np.ndarray) -> tuple[Interval, ...]:
    """The events of scored items by the columns that name them; none where these are no frames of clips."""
    if "clip" not in names or "second" not in names or any(second is None for second in names["second"]):
        return ()
    return find_intervals([clip or "" for clip in names["clip"]], names["second"], scores, alarms)


def write_intervals(out: Path, intervals: Sequence[Interval]) -> Path:
    """Write events beside a file of scores, as NAME.intervals.csv."""
    return write_interval_file(out.with_name(f"{out.stem}.intervals.csv"), intervals)


def write_interval_file(path: Path, intervals: Sequence[Interval]) -> Path:
    """Write events into a file of their own."""
    columns = ["clip", "start", "end", "peak", "score", "n_alarms"]
    write_rows(path, columns, [[asdict(each)[name] for name in columns] for each in intervals])
    return path


def _usual_step(clips: Sequence[str], seconds: Sequence[float], order: Sequence[int]) -> float:
    """The median time between two frames of a clip that follow one another."""
    steps = [seconds[after] - seconds[before] for before, after in pairwise(order) if clips[before] == clips[after]]
    return float(np.median(steps)) if steps else 0.0


def _interval(clips: Sequence[str], seconds: Sequence[float], scores: Floats, group: Sequence[int]) -> Interval:
    peak = max(group, key=lambda row: float(scores[row]))
    start, end = float(seconds[group[0]]), float(seconds[group[-1]])
    return Interval(clips[peak], start, end, float(seconds[peak]), float(scores[peak]), len(group))
