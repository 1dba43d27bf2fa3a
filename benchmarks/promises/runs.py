"""Simulated sessions: questions, true answers, a fit; everything that promises are made of is kept in a file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.promises.tasks import SHARES, Cell, Source, Task, task_of
from soel.assess import ESTIMATORS
from soel.assess.conformal import Reference
from soel.files import write_whole
from soel.learner import Learner
from soel.settings import Profile
from soel.tables.encoder import Encoder
from soel.tables.frame import read_frame
from soel.types import ANOMALY, NORMAL, UNLABELLED, Estimate, Evidence, Floats, Labels, Pool

BUDGETS = (10, 20, 40)
RIVALS = ("cover", "kriging")  # estimators of the share that stand beside the profile's own


@dataclass(frozen=True)
class Asked:
    """A session after its last answer. truth: (N,) what nobody told it. labels: (N,). estimates: by the estimator."""

    truth: NDArray[np.bool_]
    labels: Labels
    estimate: Estimate
    rivals: dict[str, Estimate]


@dataclass(frozen=True)
class Run:
    """What one session knew (labels, scores) and what nobody told it (truth).

    scores, probabilities: (N,) after the fit. new_scores: (n,) of new rows. reference_scores, reference_weights: (m,)
    what stands for the scores of new normal rows. estimate: the share and its interval.
    """

    truth: NDArray[np.bool_]
    labels: Labels
    scores: Floats
    probabilities: Floats
    cut: float
    estimate: Floats
    reference_scores: Floats
    reference_weights: Floats
    new_scores: Floats
    new_truth: NDArray[np.bool_]

    @property
    def reference(self) -> Reference:
        """What p-values are told by."""
        return Reference(self.reference_scores, self.reference_weights)


@dataclass(frozen=True)
class Turn:
    """A pool of a table, and with which numbers of labels it is fitted; smaller ones come with its questions."""

    share: float
    fitted: tuple[int, ...]


def path_of(folder: Path, source: Source, cell: Cell) -> Path:
    """Where a run is kept."""
    return folder / f"{source.name}-{cell.share:g}-{cell.budget}.npz"


def read_run(path: Path) -> Run:
    """A run that is finished."""
    with np.load(path) as file:
        kept = {field.name: file[field.name] for field in fields(Run)}
    return Run(**{**kept, "cut": float(kept["cut"])})


def order_turns(index: int, budgets: Sequence[int] = BUDGETS, n_fits: int = 1) -> list[Turn]:
    """Every share of the table with this number, in an order of its own; budgets are fitted in turn.

    So the n-th pools of many tables are balanced, and a benchmark that is stopped after any of them is fair.
    """
    turns = [(index + at, index // len(SHARES) + at) for at, _ in enumerate(SHARES)]
    return [
        Turn(SHARES[a % len(SHARES)], tuple(budgets[(b + again) % len(budgets)] for again in range(n_fits)))
        for a, b in turns
    ]


class Start:
    """A pool before the first label."""

    def __init__(self, task: Task, profile: Profile) -> None:
        self.task = task
        kind = profile.kind_for(task.source.kind)
        frame = read_frame(task.pool.astype(np.float64))
        self.encoder = Encoder.fit(frame, profile.scaling_for(kind))
        self.pool = Pool.of(self.encoder.encode(frame), kind)
        self.learner = Learner(profile.settle(kind, self.pool.n_features), 0)
        self.warm = self.learner.prepare(self.pool)

    def ask(self, budgets: Sequence[int]) -> Iterator[tuple[int, Labels]]:
        """True answers (N,) to so many questions. Those that know the last answer are asked once for all budgets."""
        unlabelled = np.full(len(self.pool), UNLABELLED, np.int8)
        labels = unlabelled
        for budget in sorted(budgets):
            if self.learner.is_sequential:
                for _ in range(budget - int((labels != UNLABELLED).sum())):
                    labels = self._answer(labels, 1)
            else:
                labels = self._answer(unlabelled, budget)
            yield budget, labels

    def estimate(self, labels: Labels) -> Asked:
        """What is said of the share, and what rivals say."""
        (evidence,) = self.learner.evidence(self.warm, self.pool, labels)
        scores = self.learner.look(self.warm, self.pool)[0]
        complete = Evidence(scores, evidence.embeddings, evidence.rows, evidence.labels)
        rivals = {name: ESTIMATORS.create(name).estimate([complete]) for name in RIVALS}
        return Asked(self.task.truth, labels, self.learner.estimate([evidence]), rivals)

    def finish(self, labels: Labels) -> Run:
        """Learn and score."""
        rounds = self.learner.evidence(self.warm, self.pool, labels)
        fitted = self.learner.learn(self.warm, self.pool, rounds, labels)
        return Run(
            self.task.truth,
            labels,
            fitted.pool_scores,
            fitted.calibration.probabilities(fitted.pool_scores),
            fitted.threshold,
            np.array([fitted.estimate.value, fitted.estimate.low, fitted.estimate.high]),
            fitted.reference.scores,
            fitted.reference.weights,
            fitted.score(self.encoder.encode(read_frame(self.task.new.astype(np.float64)))),
            self.task.new_truth,
        )

    def _answer(self, labels: Labels, n: int) -> Labels:
        rows = self.learner.propose(self.warm, self.pool, labels, n).rows
        told = labels.copy()
        told[rows] = np.where(self.task.truth[rows], ANOMALY, NORMAL)
        return told


def make_runs(
    source: Source, turn: Turn, budgets: Sequence[int], profile: Profile, folder: Path
) -> dict[Cell, Asked] | None:
    """Ask once, keep the fits that are wanted, and hand over the rest; None where the file has too few rows."""
    task = task_of(source, turn.share)
    if task is None:
        return None
    start, asked = Start(task, profile), {}
    for budget, labels in start.ask([budget for budget in budgets if budget <= max(turn.fitted)]):
        cell = Cell(turn.share, budget)
        asked[cell] = start.estimate(labels)
        path = path_of(folder, source, cell)
        if budget in turn.fitted and not path.exists():
            write_whole(path, _packed(start.finish(labels)))
    return asked


def _packed(run: Run) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **{field.name: getattr(run, field.name) for field in fields(Run)})
    return file.getvalue()
