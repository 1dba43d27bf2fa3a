"""Simulated sessions: questions, true answers, a fit; everything that promises are made of is kept in a file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.promises.tasks import SHARES, Cell, Source, Task, task_of
from soel.data.encoder import Encoder
from soel.data.frame import read_frame
from soel.durable import write_whole
from soel.learner import Learner
from soel.profiles import Profile
from soel.types import ANOMALY, NORMAL, UNLABELLED, Estimate, Floats, Labels, Pool

BUDGETS = (10, 20, 40)
Asked = tuple[NDArray[np.bool_], Labels, Estimate]


@dataclass(frozen=True)
class Run:
    """What one session knew (labels, scores) and what nobody told it (truth).

    warm_scores, embeddings, rows: before the first label. scores, probabilities: (N,) after the fit. new_scores: (n,)
    of new rows. reference: (m,) scores that stand for those of new normal rows. estimate: the share and its interval.
    """

    truth: NDArray[np.bool_]
    labels: Labels
    rows: Floats
    warm_scores: Floats
    embeddings: Floats
    scores: Floats
    probabilities: Floats
    cut: float
    estimate: Floats
    reference: Floats
    new_scores: Floats
    new_truth: NDArray[np.bool_]


def path_of(folder: Path, source: Source, cell: Cell) -> Path:
    """Where a run is kept."""
    return folder / f"{source.name}-{cell.share:g}-{cell.budget}.npz"


def read_run(path: Path) -> Run:
    """A run that is finished."""
    with np.load(path) as file:
        kept = {field.name: file[field.name] for field in fields(Run)}
    return Run(**{**kept, "cut": float(kept["cut"])})


def order_cells(index: int, budgets: Sequence[int] = BUDGETS) -> list[Cell]:
    """All cells of the table with this number. Every share comes once among the first four, with budgets in turn.

    So the n-th cells of many tables are balanced, and a benchmark that is stopped after any of them is fair.
    """
    turns = [
        (index + at, index // len(SHARES) + at + again) for again in range(len(budgets)) for at, _ in enumerate(SHARES)
    ]
    return [Cell(SHARES[a % len(SHARES)], budgets[b % len(budgets)]) for a, b in turns]


def ask_shares(source: Source, budgets: Sequence[int], profile: Profile) -> dict[Cell, Asked]:
    """Truth, labels and the estimated share for every cell that the file can give: no fit is needed for it."""
    found = {}
    for share in SHARES:
        task = task_of(source, share)
        if task is None:
            continue
        start = _Start(task, profile)
        for budget in budgets:
            labels = start.ask(budget)
            estimate = start.learner.estimate(start.learner.evidence(start.warm, start.pool, labels))
            found[Cell(share, budget)] = task.truth, labels, estimate
    return found


def make_run(source: Source, cell: Cell, profile: Profile, folder: Path) -> bool:
    """Make the run that the folder lacks; False where the file has too few rows for it."""
    path = path_of(folder, source, cell)
    task = None if path.exists() else task_of(source, cell.share)
    if task is not None:
        write_whole(path, _packed(_Start(task, profile).finish(cell.budget)))
    return path.exists()


class _Start:
    """A pool before the first label."""

    def __init__(self, task: Task, profile: Profile) -> None:
        self.task = task
        kind = profile.kind_for(task.source.kind)
        frame = read_frame(task.pool.astype(np.float64))
        self.encoder = Encoder.fit(frame, profile.scaling_for(kind))
        self.pool = Pool.of(self.encoder.encode(frame), kind)
        self.learner = Learner(profile.settle(kind, self.pool.n_features), 0)
        self.warm = self.learner.prepare(self.pool)

    def ask(self, budget: int) -> Labels:
        """True answers (N,) to so many questions."""
        labels = np.full(len(self.pool), UNLABELLED, np.int8)
        rows = self.learner.propose(self.warm, self.pool, labels, budget).rows
        labels[rows] = np.where(self.task.truth[rows], ANOMALY, NORMAL)
        return labels

    def finish(self, budget: int) -> Run:
        """Ask, learn, score."""
        labels = self.ask(budget)
        rounds = self.learner.evidence(self.warm, self.pool, labels)
        fitted = self.learner.learn(self.warm, self.pool, rounds, labels)
        return Run(
            self.task.truth,
            labels,
            np.asarray(self.pool.rows, np.float32),
            rounds[0].scores,
            rounds[0].embeddings.astype(np.float32),
            fitted.pool_scores,
            fitted.calibration.probabilities(fitted.pool_scores),
            fitted.threshold,
            np.array([fitted.estimate.value, fitted.estimate.low, fitted.estimate.high]),
            fitted.reference,
            fitted.score(self.encoder.encode(read_frame(self.task.new.astype(np.float64)))),
            self.task.new_truth,
        )


def _packed(run: Run) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **{field.name: getattr(run, field.name) for field in fields(Run)})
    return file.getvalue()
