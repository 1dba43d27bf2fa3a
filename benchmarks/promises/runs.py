"""Simulated sessions: questions, true answers, a fit; everything that promises are made of is kept in a file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.promises.tasks import SHARES, Source, Task, tasks_of
from soel.data.encoder import Encoder
from soel.data.frame import read_frame
from soel.durable import write_whole
from soel.learner import Learner, learn_together
from soel.profiles import Profile
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels, Pool

BUDGETS = (10, 20, 40)


@dataclass(frozen=True)
class Run:
    """What one session knew (labels, scores) and what nobody told it (truth).

    warm_scores, embeddings: before the first label. scores: (N,) after the fit. new_scores: (n,) of new rows.
    reference: (m,) scores that stand for those of new normal rows.
    """

    truth: NDArray[np.bool_]
    labels: Labels
    warm_scores: Floats
    embeddings: Floats
    scores: Floats
    new_scores: Floats
    new_truth: NDArray[np.bool_]
    reference: Floats


def path_of(folder: Path, source: Source, share: float, budget: int) -> Path:
    """Where a run is kept."""
    return folder / f"{source.name}-{share:g}-{budget}.npz"


def read_run(path: Path) -> Run:
    """A run that is finished."""
    with np.load(path) as file:
        return Run(**{field.name: file[field.name] for field in fields(Run)})


def make_runs(source: Source, budgets: Sequence[int], profile: Profile, folder: Path) -> None:
    """Make what the folder lacks of this file's runs; those of one shape are trained together."""
    done = {(s, k) for s in SHARES for k in budgets if path_of(folder, source, s, k).exists()}
    if len(done) == len(SHARES) * len(budgets):
        return
    tasks = sorted(tasks_of(source), key=lambda task: len(task.pool))
    for _, together in groupby(tasks, lambda task: len(task.pool)):
        started = [_Start(task, profile) for task in together]
        for budget in budgets:
            missing = [each for each in started if (each.task.share, budget) not in done]
            _finish(missing, budget, folder)


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
        labels = np.full(len(self.pool), UNLABELLED, np.int8)
        rows = self.learner.propose(self.warm, self.pool, labels, budget).rows
        labels[rows] = np.where(self.task.truth[rows], ANOMALY, NORMAL)
        return labels


def _finish(started: Sequence[_Start], budget: int, folder: Path) -> None:
    """Ask, learn, keep."""
    if not started:
        return
    labels = [each.ask(budget) for each in started]
    rounds = [each.learner.evidence(each.warm, each.pool, told) for each, told in zip(started, labels, strict=True)]
    learners, warm, pools = zip(*((each.learner, each.warm, each.pool) for each in started), strict=True)
    fits = learn_together(learners, warm, pools, rounds, labels)
    for each, told, evidence, fitted in zip(started, labels, rounds, fits, strict=True):
        run = Run(
            each.task.truth,
            told,
            evidence[0].scores,
            evidence[0].embeddings.astype(np.float32),
            fitted.pool_scores,
            fitted.score(each.encoder.encode(read_frame(each.task.new.astype(np.float64)))),
            each.task.new_truth,
            fitted.reference,
        )
        write_whole(path_of(folder, each.task.source, each.task.share, budget), _packed(run))


def _packed(run: Run) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **{field.name: getattr(run, field.name) for field in fields(Run)})
    return file.getvalue()
