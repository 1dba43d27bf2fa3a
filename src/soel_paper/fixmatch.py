"""FixMatch for anomaly detection, as the paper's appendix adapts it: confident guesses on weakly augmented pictures
are the labels of strongly augmented ones (eq:fixmatch-loss).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from soel import networks
from soel.learner import Learner
from soel.model import Blend, Fitted
from soel.networks.objectives import Task
from soel.types import UNLABELLED, Evidence, Floats, ItemWeights, Labels, Pool, PoolView
from soel_paper.augment import strong, weak

ANOMALOUS, NORMAL = 0.05, 0.3  # shares of the unlabelled that are surely the one or the other
FINE_TUNING = 5  # epochs on the answers alone, before pictures are augmented
N_DRAWS = 2  # sets of augmented pictures, used in turn: each costs a pass through the frozen network
ToRows = Callable[[NDArray[np.uint8]], Floats]
Draw = tuple[Floats, Floats]


def learn_fixmatch(
    learner: Learner, warm: Blend, pool: Pool, rounds: Sequence[Evidence], labels: Labels, draws: Sequence[Draw]
) -> Fitted:
    """Go on from the warm-up: first the answers alone, then answers and guesses on augmented pictures.

    draws: (weak, strong) rows (N, d) of the pool, taken in turn. The guesses are renewed each epoch.
    """
    start = warm.network or learner.new_network(pool)
    model, schedule = start.model.copy(), learner.profile.schedule
    view = PoolView(np.zeros(len(pool)), pool.rows, labels)
    answers = learner.objective.labelled(view)

    def train(rows: Pool, guesses: ItemWeights | None, epochs: int) -> None:
        tasks = [Task(view.labelled, answers, view.unlabelled, guesses)] * model.n_members
        networks.fit(model, rows.rows, tasks, replace(schedule, epochs=epochs), False)

    train(pool, None, FINE_TUNING)
    slight = [replace(pool, rows=weakly) for weakly, _ in draws]
    mixed = [replace(pool, rows=np.where((labels != UNLABELLED)[:, None], *draw)) for draw in draws]
    for epoch in range(schedule.epochs):
        drawn = epoch % len(draws)
        scores = networks.losses(model, slight[drawn].rows)[0].mean(axis=0)[view.unlabelled]
        train(mixed[drawn], confident(scores), 1)
    return learner.finish(model, pool, labels, learner.estimate(rounds))


def confident(scores: Floats) -> ItemWeights:
    """Top scores are anomalies, low ones normal, and what lies between weighs nothing."""
    anomaly = scores > np.quantile(scores, 1 - ANOMALOUS)
    normal = scores < np.quantile(scores, NORMAL)
    return ItemWeights(normal=normal.astype(np.float32), anomaly=anomaly.astype(np.float32))


def augment(pictures: NDArray[np.uint8], to_rows: ToRows, seed: int) -> list[Draw]:
    """Several draws of weakly and strongly augmented pictures, as rows."""
    draws = []
    for number in range(N_DRAWS):
        rng = np.random.default_rng([seed, number, 2])
        draws.append((np.array(to_rows(weak(pictures, rng))), np.array(to_rows(strong(pictures, rng)))))
    return draws
