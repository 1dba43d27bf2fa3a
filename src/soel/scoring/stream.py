"""Scoring all rows of a stream: part by part at the speed of the model, then exact ranks, then one file or a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from soel.assess.conformal import UnsureBand
from soel.assess.drift import AlarmCounts, Drift, judge_drift
from soel.errors import ConfigError, NoPermissionError, SessionError
from soel.files import move, replacing
from soel.scoring.parts import ScoredPart, ScoredParts, merge_by_rank, open_scored_parts
from soel.scoring.ray import Cluster, reachable, run_parts
from soel.scoring.table import COLUMNS, N_TOP, free_name
from soel.tables.batches import Part, ahead, column_of
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.tables.rank_files import write_ranks, write_scores
from soel.tables.streams import Stream
from soel.tables.tally import Tally, add_tallies
from soel.tables.write import check_length, check_suffix, write_table
from soel.types import Counted, Floats, Progress, Rows

Tabulate = Callable[[Frame, Floats, Sequence[str]], Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class RowExplainer:
    """How rows of a stream are explained.

    names: of the columns that reasons become. tabulate: rows, the features (n, d) that they are encoded to and their
    ids, to these columns. count: how many rows are explained, the most anomalous ones, by the number of alarms and
    of all rows.
    """

    names: Sequence[str]
    tabulate: Tabulate
    count: Callable[[int, int], int]

    def explain(self, stream: Stream, encoder: Encoder, part: Part, rows: Rows) -> dict[str, Any]:
        """Columns of reasons of a part as Arrow arrays: null but for these of its rows (k,), in order."""
        cells: dict[str, list[Any]] = {name: [None] * part.n_rows for name in self.names}
        wanted = rows + part.first_row
        for block in stream.blocks(part) if len(rows) else ():
            own = wanted[(wanted >= block.first_row) & (wanted < block.first_row + block.n_rows)] - block.first_row
            if not len(own):
                continue
            frame = block.frame.take(own)
            found = self.tabulate(frame, encoder.encode(frame), [block.ids[int(row)].as_py() for row in own])
            for name in self.names:
                for row, cell in zip((own + block.first_row - part.first_row).tolist(), found[name], strict=True):
                    cells[name][row] = cell
        arrow = import_module("pyarrow")
        return {name: arrow.array(column, _type_of(name)) for name, column in cells.items()}


@dataclass(frozen=True)
class Scorer:
    """What scores rows. model: its fingerprint. score: (n, d) -> (n,). n_alarms: where alarms are counted, not cut.

    alarms: (n,) scores -> (n,) of bool.
    probabilities, p_values: (n,) scores -> (n,) of being an anomaly, and how often a normal item scores as high; or
    None. answers: label and name by item. pool_scores: (N,) of the pool, where it is asked how the rows differ from
    it. with_columns: whether the rows' own columns are written, too. unsure: scores that are not sure; None where the
    model does not know. explainer: how the most anomalous rows are explained; None where nobody asks why. can_alarm:
    whether any score would raise an alarm.
    """

    model: str
    encoder: Encoder
    score: Callable[[Floats], Floats]
    alarms: Callable[[Floats], np.ndarray]
    n_alarms: int | None = None
    probabilities: Callable[[Floats], Floats | None] = lambda scores: None
    answers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    pool_scores: Floats = field(default_factory=lambda: np.zeros(0))
    with_columns: bool = False
    p_values: Callable[[Floats], Floats | None] = lambda scores: None
    unsure: UnsureBand | None = None
    explainer: RowExplainer | None = None
    can_alarm: bool = True

    def flag(self, scores: Floats, ranks: np.ndarray) -> np.ndarray:
        """Which rows (n,) raise an alarm."""
        return self.alarms(scores) if self.n_alarms is None else ranks <= self.n_alarms


def score_stream(
    stream: Stream, scorer: Scorer, out: Path, progress: Progress | None = None, cluster: Cluster | None = None
) -> dict[str, Any]:
    """Write id and the columns of `table.COLUMNS` for all rows, by rank; returns a summary.

    out: .csv, .parquet, .json, .xlsx, or a folder of Parquet parts. It is there whole or not at all; run
    again, the command goes on after the last finished part. cluster: whose machines score the parts, None for this one.
    """
    check_out(out)
    check_length(out, stream.n_rows)
    try:
        with open_scored_parts(out.with_name(f".{out.name}.parts"), stream, scorer.model) as parts:
            score_missing(parts, scorer, progress, cluster)
            scores = write_scores(parts.folder / "scores", parts.scores())
            ranks = write_ranks(parts.folder / "ranks", scores)
            n_explained = _count_explained(parts, scorer, scores)
            summary = _Summary(out)
            tables = merge_by_rank(parts.folder, _add_columns(parts, scorer, ranks, n_explained or 0), stream.n_rows)
            move(_write(parts.folder / f"joined{out.suffix.lower()}", summary.of(tables)), out)
            drift = _judge(parts, scorer, scores) if len(scorer.pool_scores) else None
    except NoPermissionError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise SessionError(
            f"The scores cannot be written to {out}: {why}. What is finished is kept: make room, then run the same "
            "command again."
        ) from error
    document = summary.document | ({} if n_explained is None else {"n_explained": n_explained})
    return document | {"drift": None if drift is None else drift.document()}


def _count_alarms(parts: ScoredParts, scorer: Scorer, scores: np.ndarray) -> int:
    """How many scores lie above the threshold."""
    pieces = np.array_split(scores, len(parts.stream.parts))
    return sum(int(scorer.alarms(np.asarray(piece)).sum()) for piece in pieces)


def _count_explained(parts: ScoredParts, scorer: Scorer, scores: np.ndarray) -> int | None:
    """How many rows are explained, the most anomalous ones; None where nobody asks why."""
    if scorer.explainer is None:
        return None
    n_alarms = _count_alarms(parts, scorer, scores) if scorer.n_alarms is None else scorer.n_alarms
    return scorer.explainer.count(n_alarms, parts.stream.n_rows)


def _judge(parts: ScoredParts, scorer: Scorer, scores: np.ndarray) -> Drift:
    """How all rows differ from the pool."""
    n_alarms = _count_alarms(parts, scorer, scores)
    pool_alarms = int(scorer.alarms(scorer.pool_scores).sum())
    counts = AlarmCounts(n_alarms, len(scores), pool_alarms, len(scorer.pool_scores))
    return judge_drift(scorer.encoder.baseline, parts.tally(), counts)


def score_missing(
    parts: ScoredParts, scorer: Scorer, progress: Progress | None = None, cluster: Cluster | None = None
) -> None:
    """Score what is not there yet, here or on the machines of a cluster, and keep each part."""
    missing, total = parts.missing(), parts.stream.n_rows
    n_there = total - sum(part.n_rows for part in missing)
    on_rows = None if progress is None else lambda done: progress(n_there + done, total)
    with reachable(cluster, parts.stream) as there:
        work = ScorePart(there, scorer.encoder, scorer.score)
        for scored in run_parts(cluster, work, [part.number for part in missing], on_rows):
            parts.keep(scored)


@dataclass(frozen=True)
class ScorePart:
    """Scores one part after the other. It can be sent to another process."""

    stream: Stream
    encoder: Encoder
    score: Callable[[Floats], Floats]

    def __call__(self, number: int, tell: Counted) -> ScoredPart:
        """Score the part of this number; the next rows are read and encoded while these are scored."""
        ids: list[Any] = []
        scores: list[Floats] = []
        tally: Tally | None = None
        for names, x, counts in ahead(self._encode(number)):
            tally = counts if not ids else add_tallies(tally, counts)
            ids.append(names)
            scores.append(self.score(x))
            tell(len(x))
        arrow = import_module("pyarrow")
        return ScoredPart(number, arrow.chunked_array(ids, arrow.string()), np.concatenate(scores), tally)

    def _encode(self, number: int) -> Iterator[tuple[Any, Floats, Tally | None]]:
        for block in self.stream.blocks(self.stream.parts[number]):
            yield block.ids, self.encoder.encode(block.frame), self.encoder.tally(block.frame)


def check_out(out: Path) -> None:
    """Refuse a place that cannot be written before anything is computed."""
    if check_suffix(out, others=("",)) == "" and out.exists():
        raise ConfigError(f"{out} exists already; choose another <<out>>, or move it away.")


def _add_columns(parts: ScoredParts, scorer: Scorer, ranks: np.ndarray, n_explained: int) -> Iterator[Any]:
    """The finished parts as Arrow tables with all columns. n_explained: rows of the highest ranks that have reasons."""
    arrow = import_module("pyarrow")
    for part in parts.stream.parts:
        table, own = parts.read(part), np.asarray(ranks[part.first_row : part.first_row + part.n_rows])
        ids, scores = table.column("id"), table.column("score").to_numpy()
        known = [
            arrow.nulls(len(own), arrow.float64()) if found is None else arrow.array(found, arrow.float64())
            for found in (scorer.probabilities(scores), scorer.p_values(scores))
        ]
        label, who = _answers_of(scorer.answers, ids)
        columns = (own, scores, *known, scorer.flag(scores, own), _not_sure(scorer.unsure, scores, label), label, who)
        own_name = parts.stream.id_column
        named = {free_name(own_name or "id", COLUMNS): ids}
        whole = named | dict(zip(COLUMNS, columns, strict=True))
        if scorer.explainer is not None:
            rows = np.flatnonzero(own <= n_explained)
            whole |= scorer.explainer.explain(parts.stream, scorer.encoder, part, rows)
        yield arrow.table(whole | _own_cells(parts.stream, part, whole) if scorer.with_columns else whole)


def _own_cells(stream: Stream, part: Part, taken: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a part as they lie in its file, but for the id."""
    arrow = import_module("pyarrow")
    names = [name for name in stream.format.columns if name != stream.id_column]
    pieces = [[column_of(batch, name) for name in names] for _, batch in stream.batches(part)]
    columns = (arrow.chunked_array([piece[at] for piece in pieces]) for at in range(len(names)))
    return {free_name(name, taken): column for name, column in zip(names, columns, strict=True)}


def _not_sure(unsure: UnsureBand | None, scores: Floats, label: Any) -> Any:
    """Which rows are not sure; a label leaves nothing open."""
    arrow = import_module("pyarrow")
    if unsure is None:
        return arrow.nulls(len(scores), arrow.bool_())
    return arrow.array(unsure.holds(scores) & np.asarray(label.is_null()))


def _answers_of(answers: Mapping[str, tuple[str, str]], ids: Any) -> tuple[Any, Any]:
    """Label and annotator of each id, null where nobody said anything."""
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    at = compute.index_in(ids, value_set=arrow.array(list(answers), arrow.string()))
    labels, names = ([pair[part] for pair in answers.values()] for part in (0, 1))
    return tuple(arrow.array(values, arrow.string()).take(at) for values in (labels, names))


class _Summary:
    """What a command says about the scores, gathered while they pass by."""

    def __init__(self, out: Path) -> None:
        self.document: dict[str, Any] = {"out": str(out), "n_items": 0, "n_alarms": 0, "top": []}

    def of(self, tables: Iterable[Any]) -> Iterator[Any]:
        compute = import_module("pyarrow.compute")
        for table in tables:
            self.document["n_items"] += len(table)
            self.document["n_alarms"] += compute.sum(table.column("alarm")).as_py() or 0
            self.document["top"] += table.filter(compute.field("rank") <= N_TOP).to_pylist()
            yield table
        self.document["top"].sort(key=lambda row: row["rank"])


def _write(draft: Path, tables: Iterator[Any]) -> Path:
    """Write all rows in the form that the suffix says; a folder gets one file per part."""
    if draft.suffix in (".csv", ".json", ".xlsx"):
        first = next(tables)
        rows = (list(row.values()) for table in chain([first], tables) for row in table.to_pylist())
        write_table(draft, first.column_names, rows)
    elif draft.suffix == ".parquet":
        _write_parquet(draft, tables)
    else:
        shutil.rmtree(draft, ignore_errors=True)  # of a command that was killed
        for number, table in enumerate(tables):
            _write_parquet(draft / f"part-{number:06d}.parquet", iter([table]))
    return draft


def _write_parquet(draft: Path, tables: Iterator[Any]) -> None:
    parquet, first = import_module("pyarrow.parquet"), next(tables)
    with replacing(draft) as file, parquet.ParquetWriter(file, first.schema, use_dictionary=False) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _type_of(name: str) -> Any:
    """What a column of reasons holds: all parts must have the same types, also those where nothing is explained."""
    arrow = import_module("pyarrow")
    if name.endswith("_share"):
        return arrow.float64()
    return arrow.int64() if name.endswith(("_rank", "_rank_together")) else arrow.string()
