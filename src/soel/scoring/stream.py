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

from soel.errors import ConfigError, NoPermissionError, SessionError
from soel.files import move, replacing
from soel.numeric import ahead
from soel.scoring.ray import Cluster, run_parts
from soel.scoring.score import Scorer
from soel.scoring.score_table import N_TOP, Answers, score_columns
from soel.scoring.scored_parts import (
    ScoredPart,
    ScoredParts,
    merge_by_rank,
    open_scored_parts,
    write_ranks,
    write_scores,
)
from soel.tables.batches import Stream
from soel.tables.codes import Tally, add_tallies
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.tables.parts import DataPart, column_of
from soel.tables.rows import check_length, check_suffix, write_table
from soel.types import Counted, Floats, Progress, Rows

Tabulate = Callable[[Frame, Floats, Sequence[str]], Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class RowReasons:
    """How the most anomalous rows are explained.

    names: of the columns that reasons become. tabulate: rows, the features (n, d) that they are encoded to and their
    ids, to these columns. count: how many rows are explained, by the number of alarms and of all rows.
    """

    names: Sequence[str]
    tabulate: Tabulate
    count: Callable[[int, int], int]

    def explain(self, n_rows: int, pieces: Iterable[tuple[Rows, Frame, Floats, Sequence[str]]]) -> dict[str, list[Any]]:
        """Columns of reasons of `n_rows` rows: None but for those that come in pieces, each with its rows (k,)."""
        cells: dict[str, list[Any]] = {name: [None] * n_rows for name in self.names}
        for rows, frame, x, ids in pieces:
            found = self.tabulate(frame, x, ids)
            for name in self.names:
                for row, cell in zip(rows.tolist(), found[name], strict=True):
                    cells[name][row] = cell
        return cells


@dataclass(frozen=True)
class Beside:
    """What is written beside scores.

    answers: label and annotator by item. with_columns: the rows' own columns, too. explainer: why the most anomalous
    rows are, None without reasons. is_compared: whether drift from the pool is tested.
    """

    answers: Answers = field(default_factory=dict)
    with_columns: bool = False
    explainer: RowReasons | None = None
    is_compared: bool = False


def score_stream(
    stream: Stream,
    encoder: Encoder,
    scorer: Scorer,
    out: Path,
    beside: Beside | None = None,
    progress: Progress | None = None,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Score all rows part by part, rank them exactly and write them by rank; returns a summary.

    out: .csv, .parquet, .json, .xlsx, or a folder of Parquet parts. It is there whole or not at all; run again, the
    command goes on after the last finished part. cluster: whose machines score the parts, None for this one.
    """
    check_out(out)
    check_length(out, stream.n_rows)
    try:
        with open_scored_parts(out.with_name(f".{out.name}.parts"), stream, scorer.fingerprint) as parts:
            _score_missing(parts, encoder, scorer, progress, cluster)
            return _Join(parts, encoder, scorer, beside or Beside()).write(out)
    except NoPermissionError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise SessionError(
            f"The scores cannot be written to {out}: {why}. What is finished is kept: make room, then run the same "
            "command again."
        ) from error


def check_out(out: Path) -> None:
    """Refuse a place that cannot be written before anything is computed."""
    if check_suffix(out, others=("",)) == "" and out.exists():
        raise ConfigError(f"{out} exists already; choose another <<out>>, or move it away.")


def _score_missing(
    parts: ScoredParts, encoder: Encoder, scorer: Scorer, progress: Progress | None, cluster: Cluster | None
) -> None:
    """Score what is not there yet, here or on the machines of a cluster, and keep each part."""
    missing, total = parts.missing(), parts.stream.n_rows
    n_there = total - sum(part.n_rows for part in missing)
    on_rows = None if progress is None else lambda done: progress(n_there + done, total)
    work = ScorePart(parts.stream, encoder, scorer.score)
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


@dataclass(frozen=True)
class _Join:
    """Parts that are scored, put together by rank."""

    parts: ScoredParts
    encoder: Encoder
    scorer: Scorer
    beside: Beside

    def write(self, out: Path) -> dict[str, Any]:
        """Write all rows as one file or folder; returns a summary."""
        parts, explainer, n_rows = self.parts, self.beside.explainer, self.parts.stream.n_rows
        scores = write_scores(parts.folder / "scores", parts.scores())
        ranks = write_ranks(parts.folder / "ranks", scores)
        chunks = np.array_split(scores, len(parts.stream.parts))
        n_above = sum(int(self.scorer.model.alarms(np.asarray(chunk)).sum()) for chunk in chunks)
        n_alarms = self.scorer.rule.count(n_rows)
        n_explained = 0 if explainer is None else explainer.count(n_above if n_alarms is None else n_alarms, n_rows)
        summary = _Summary(out)
        tables = merge_by_rank(parts.folder, self._tables(ranks, n_explained), n_rows)
        move(_write(parts.folder / f"joined{out.suffix.lower()}", summary.of(tables)), out)
        drift = None
        if self.beside.is_compared:
            drift = self.scorer.judge_drift(self.encoder.baseline, parts.tally(), n_above, n_rows)
        document = summary.document | ({} if explainer is None else {"n_explained": n_explained})
        promise = self.scorer.promise(drift, n_rows)
        return document | {"drift": None if drift is None else drift.document(), "promise": promise}

    def _tables(self, ranks: Rows, n_explained: int) -> Iterator[Any]:
        """The finished parts as Arrow tables with all columns. n_explained: rows of the highest ranks with reasons."""
        stream, arrow = self.parts.stream, import_module("pyarrow")
        for part in stream.parts:
            table, own = self.parts.read(part), np.asarray(ranks[part.first_row : part.first_row + part.n_rows])
            ids = table.column("id")
            scores = self.scorer.judge(ids, table.column("score").to_numpy(), own, stream.n_rows)
            reasons = self._explain(part, np.flatnonzero(own <= n_explained))
            cells = _own_cells(stream, part) if self.beside.with_columns else {}
            name = stream.id_column or "id"
            yield arrow.table(score_columns(scores, {name: ids}, self.beside.answers, reasons, cells))

    def _explain(self, part: DataPart, rows: Rows) -> dict[str, Any]:
        """Columns of reasons of a part as Arrow arrays: null but for these of its rows (k,)."""
        if self.beside.explainer is None:
            return {}
        arrow = import_module("pyarrow")
        cells = self.beside.explainer.explain(part.n_rows, self._read_again(part, rows))
        return {name: arrow.array(column, _type_of(name)) for name, column in cells.items()}

    def _read_again(self, part: DataPart, rows: Rows) -> Iterator[tuple[Rows, Frame, Floats, Sequence[str]]]:
        """These rows (k,) of a part with their features and ids, block by block."""
        wanted = rows + part.first_row
        for block in self.parts.stream.blocks(part) if len(rows) else ():
            own = wanted[(wanted >= block.first_row) & (wanted < block.first_row + block.n_rows)] - block.first_row
            if len(own):
                frame = block.frame.take(own)
                ids = [block.ids[int(row)].as_py() for row in own]
                yield own + block.first_row - part.first_row, frame, self.encoder.encode(frame), ids


def _own_cells(stream: Stream, part: DataPart) -> dict[str, Any]:
    """The columns of a part as they lie in its file, but for the id."""
    arrow = import_module("pyarrow")
    names = [name for name in stream.all_columns if name != stream.id_column]
    pieces = [[column_of(batch, name) for name in names] for _, batch in stream.batches(part)]
    return {name: arrow.chunked_array([piece[at] for piece in pieces]) for at, name in enumerate(names)}


def _type_of(name: str) -> Any:
    """What a column of reasons holds: all parts must have the same types, also those where nothing is explained."""
    arrow = import_module("pyarrow")
    if name.endswith("_share"):
        return arrow.float64()
    return arrow.int64() if name.endswith(("_rank", "_rank_together")) else arrow.string()


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
