"""The command: asks, names and fits what is missing, then prints gains over the same answers without names.

Each table is a task of `benchmarks detection`: own questions, one at a time. Every anomaly among the answers comes with
the one column that a forest which knows every label names; with `wrong`, 20 % of these are another column.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from benchmarks.because.expert import NamingExpert, mistake
from benchmarks.cell_files import as_line, read_cells, write_cells
from benchmarks.detection.tasks import Task, find_tables, read_task
from benchmarks.kinds_of_fraud import KINDS, payments
from soel import SOEL
from soel.assess.metrics import auroc
from soel.report.progress import progress_bar
from soel.types import UNLABELLED, Floats

WAYS = ("without names", "named", "20 % wrong names")
WRONG, FEWEST_COLUMNS, PAYMENT_SEEDS = 0.2, 4, (0, 1)


@dataclass(frozen=True)
class Asked:
    """The rows that were asked about, in order: a smaller budget is their beginning."""

    table: str
    rows: list[int]


@dataclass(frozen=True)
class Cell:
    """Figures of one table with so many answers. n_named: of them anomalies. figures: AUROC and AP by way.

    by_kind: of made-up payments, the AUROC of each kind of fraud, by way.
    """

    table: str
    budget: int
    n_columns: int
    n_named: int
    figures: dict[str, list[float]]
    by_kind: dict[str, list[float]]


def main(words: Sequence[str]) -> int:
    """Measure what is missing, then print."""
    arguments = _parser().parse_args(words)
    budgets = [int(word) for word in arguments.budgets.split(",")]
    tasks: dict[str, Callable[[], Task]] = {f"payments {seed}": partial(_payments, seed) for seed in PAYMENT_SEEDS}
    if not arguments.payments:
        paths = find_tables(arguments.data_dir or [Path(os.environ.get("SOEL_DATA", "."))])
        chosen = paths[arguments.first :: arguments.every]
        tasks = {f"{path.parent.name}/{path.stem}": partial(read_task, path) for path in chosen}
    questions, out = arguments.out.with_suffix(".asked.jsonl"), arguments.out
    asked = {each.table: each for each in read_cells(questions, Asked)}
    done = {(cell.table, cell.budget): cell for cell in read_cells(out, Cell)}
    write_cells(questions, list(asked.values()))
    write_cells(out, list(done.values()))
    with progress_bar("because") as progress:
        for number, (name, make) in enumerate(tasks.items(), start=1):
            missing = [budget for budget in budgets if (name, budget) not in done]
            if missing:
                task = make()
                if name not in asked or len(asked[name].rows) < min(max(missing), len(task.pool)):
                    asked[name] = Asked(name, _ask(task, max(missing)))
                    _append(questions, asked[name])
                for budget in missing:
                    done[name, budget] = _measure(task, name, asked[name].rows[:budget], budget)
                    _append(out, done[name, budget])
            progress(number, len(tasks))
    for budget in budgets:
        print(_summarise([done[name, budget] for name in tasks], budget))
    return 0


def _append(path: Path, cell: Asked | Cell) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(as_line(cell))


@dataclass(frozen=True)
class Payments(Task):
    """Made-up payments. kind: (n,) of the new ones, 0 normal."""

    kind: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


def _payments(seed: int) -> Payments:
    rng = np.random.default_rng(seed)
    (pool, kind), (new, new_kind) = payments(rng), payments(rng)
    return Payments(f"payments {seed}", pool, kind > 0, new, new_kind > 0, kind=new_kind)


def _ask(task: Task, budget: int) -> list[int]:
    labels, detector, rows = np.full(len(task.pool), UNLABELLED, np.int8), SOEL(random_state=0), list[int]()
    for _ in range(min(budget, len(labels))):
        row = int(detector.query(task.pool, 1, labels)[0])
        labels[row] = task.pool_truth[row]
        rows.append(row)
    return rows


def _measure(task: Task, name: str, asked: list[int], budget: int) -> Cell:
    width, anomalies = task.pool.shape[1], [row for row in asked if task.pool_truth[row]]
    labels = np.full(len(task.pool), UNLABELLED, np.int8)
    labels[asked] = task.pool_truth[asked]
    named = list[tuple[int, int]]()
    if anomalies and width > 1:
        every = np.concatenate([task.pool, task.test]), np.concatenate([task.pool_truth, task.test_truth])
        expert = NamingExpert.of(*every)
        named = [(row, expert.name(task.pool[row])) for row in anomalies]
    told = dict(zip(WAYS, ({}, mistake(named, width, 0.0, 1), mistake(named, width, WRONG, 1)), strict=True))
    figures, by_kind = dict[str, list[float]](), dict[str, list[float]]()
    for way, because in told.items():
        if way != WAYS[0] and not named:
            figures[way] = figures[WAYS[0]]
            continue
        scores = SOEL(random_state=0).fit(task.pool, labels, because=because).anomaly_score(task.test)
        figures[way] = [auroc(task.test_truth, scores), float(average_precision_score(task.test_truth, scores))]
        by_kind[way] = _by_kind(scores, task.kind) if isinstance(task, Payments) else []
    return Cell(name, budget, width, len(named), figures, by_kind)


def _by_kind(scores: Floats, kind: NDArray[np.int64]) -> list[float]:
    return [auroc(kind[some] > 0, scores[some]) for some in ((kind == 0) | (kind == n + 1) for n in range(len(KINDS)))]


def _summarise(cells: Sequence[Cell], budget: int) -> str:
    tables = [cell for cell in cells if not cell.table.startswith("payments")]
    parts = {
        f"tables with an anomaly found and at least {FEWEST_COLUMNS} columns": [
            cell for cell in tables if cell.n_named and cell.n_columns >= FEWEST_COLUMNS
        ],
        "all tables": tables,
    }
    lines = [f"\n{budget} answers:\n", "| | tables | AUROC | AP | AUROC + | AP + |", "|---|---:|---:|---:|---:|---:|"]
    for words, some in parts.items():
        lines += [_line(f"{words}, {way}", way, some) for way in WAYS if some]
    made = [cell for cell in cells if cell.table.startswith("payments")]
    if made:
        lines += ["", f"| payments | {' | '.join(KINDS)} | all |", "|---|---:|---:|---:|---:|"]
        for way in WAYS:
            figures = np.mean([[*cell.by_kind[way], cell.figures[way][0]] for cell in made], axis=0)
            lines.append(f"| {way} | {' | '.join(f'{100 * each:.1f}' for each in figures)} |")
    return "\n".join(lines)


def _line(words: str, way: str, cells: Sequence[Cell]) -> str:
    """Means over tables, and differences from no names with their standard errors."""
    of: Mapping[str, Floats] = {each: 100 * np.array([cell.figures[each] for cell in cells]) for each in WAYS}
    gains = of[way] - of[WAYS[0]]
    errors = gains.std(axis=0, ddof=1) / np.sqrt(len(cells)) if len(cells) > 1 else np.zeros(2)
    shown = [f"{gain:+.1f} ± {error:.1f}" for gain, error in zip(gains.mean(axis=0), errors, strict=True)]
    means = [f"{mean:.1f}" for mean in of[way].mean(axis=0)]
    return f"| {' | '.join([words, str(len(cells)), *means, *(shown if way != WAYS[0] else ['', ''])])} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks because", description=__doc__)
    parser.add_argument("--data-dir", type=Path, nargs="+", metavar="DIR", help="folders of .npz files with X and y")
    parser.add_argument("--out", type=Path, default=Path("build/because.jsonl"), help="finished cells, one a line")
    parser.add_argument("--budgets", default="10,20", metavar="A,B", help="numbers of answers")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth table")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="beginning with this one")
    parser.add_argument("--payments", action="store_true", help="made-up payments in place of tables")
    return parser
