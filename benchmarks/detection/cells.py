"""One table, contestant and budget is a cell: measured once, kept as one line of JSON."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.cell_files import as_line, read_cells, write_cells
from benchmarks.detection.contestants import CONTESTANTS, Contestant, Scores
from benchmarks.detection.tasks import Expert, Task, read_task
from soel.assess.metrics import auroc, f1_at_share, f1_score
from soel.types import Progress


@dataclass(frozen=True)
class Cell:
    """The figures of a contestant on the test rows of a table, with a budget of labels.

    f1: by the contestant's own threshold. f1_at_share: with as many alarms as there are anomalies.
    n_found: anomalies among the rows asked about; of one that asks nobody, by the number of its highest scores.
    seconds: of the processor, without questions that a smaller budget had asked already.
    """

    table: str
    method: str
    budget: int
    auroc: float
    average_precision: float
    f1: float
    f1_at_share: float
    n_found: dict[str, int]
    seconds: float


def run_cells(
    paths: Sequence[Path], names: Sequence[str], budgets: Sequence[int], out: Path, n_jobs: int, progress: Progress
) -> list[Cell]:
    """Measure what `out` lacks and append it there, one line a cell."""
    finished = read_cells(out, Cell)
    done = {(cell.table, cell.method, cell.budget) for cell in finished}
    work = []
    for path in paths:
        for name in names:
            missing = [n for n in _budgets(name, budgets) if (path.stem, name, n) not in done]
            work += [(path, name, missing)] if missing else []
    write_cells(out, finished)
    with out.open("a", encoding="utf-8") as file:
        for number, cells in enumerate(_measure_all(work, tuple(budgets), n_jobs), start=1):
            file.writelines(map(as_line, cells))
            file.flush()
            finished += cells
            progress(number, len(work))
    return finished


def _budgets(name: str, budgets: Sequence[int]) -> Sequence[int]:
    return budgets if CONTESTANTS[name].asks else (0,)


def _measure_all(
    work: Sequence[tuple[Path, str, Sequence[int]]], budgets: Sequence[int], n_jobs: int
) -> Iterator[list[Cell]]:
    if n_jobs <= 1:
        yield from (_measure_file(*each, budgets) for each in work)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes: one core each
    with ProcessPoolExecutor(n_jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(_measure_file, *each, budgets) for each in work]
        yield from (future.result() for future in as_completed(futures))


def _measure_file(path: Path, name: str, missing: Sequence[int], budgets: Sequence[int]) -> list[Cell]:
    task = read_task(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other packages warn of what is theirs
        return [measure(task, name, budget, budgets) for budget in missing]


def measure(task: Task, name: str, budget: int, budgets: Sequence[int] = ()) -> Cell:
    """One cell."""
    contestant, expert, started = CONTESTANTS[name], Expert(task.pool_truth, task.questions), time.process_time()
    found = contestant.detect(task.pool, task.test, expert, min(budget, len(task.pool)), 0)
    return Cell(
        task.name,
        name,
        budget,
        auroc(task.test_truth, found.test),
        float(average_precision_score(task.test_truth, found.test)),
        f1_score(task.test_truth, found.alarms),
        f1_at_share(task.test_truth, found.test),
        _n_found(contestant, expert, task, found, budget, budgets),
        time.process_time() - started,
    )


def _n_found(
    contestant: Contestant, expert: Expert, task: Task, found: Scores, budget: int, budgets: Sequence[int]
) -> dict[str, int]:
    if contestant.asks:
        return {str(budget): expert.n_found}
    highest = np.argsort(-found.pool, kind="stable")
    return {str(n): int(task.pool_truth[highest[:n]].sum()) for n in budgets}
