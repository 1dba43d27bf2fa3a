"""Training on a table of BreastW's size: a loop over transformations, one batched run, five seeds as one model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from benchmarks.loop_ntl import LoopNTL, train_loop
from soel.learner import Learner
from soel.networks.stack import threads_for
from soel.settings import AUTHORS
from soel.types import Kind, Pool
from soel_paper.experiment import learn_together, prepare_together

N_ROWS, N_COLUMNS, EPOCHS, SEEDS = 246, 9, 40, 5  # the pool of BreastW under the paper's protocol


def measure() -> dict[str, float]:
    """Seconds per run (40 epochs), and the two ratios."""
    rng = np.random.default_rng(0)
    pools = [rng.integers(1, 11, size=(N_ROWS, N_COLUMNS)).astype(np.float32) for _ in range(SEEDS)]
    labels = np.full(N_ROWS, -1, np.int8)
    labels[:10] = np.arange(10) < 3
    profile = replace(AUTHORS, tables=replace(AUTHORS.tables, epochs=EPOCHS))
    settled = profile.settle(Kind.TABLE, N_COLUMNS)
    learners = [Learner(settled, seed, contamination=0.1) for seed in range(SEEDS)]
    known = [Pool.of(pool, Kind.TABLE) for pool in pools]
    warm = prepare_together(learners, known)

    def loop() -> None:
        with threads_for(1, 1):
            y = torch.from_numpy((labels[:10] == 1).astype(np.float32))
            train_loop(LoopNTL.for_table(N_COLUMNS), torch.from_numpy(pools[0]), y, 0.1, EPOCHS, -(-N_ROWS // 5))

    def one() -> None:
        learners[0].learn(warm[0], known[0], [], labels)

    def five() -> None:
        learn_together(learners, warm, known, [[]] * SEEDS, [labels] * SEEDS)

    def members(n: int) -> Callable[[], None]:
        learner = Learner(replace(settled, n_members=n), seed=0, contamination=0.1)
        own = learner.prepare(known[0])
        return lambda: _run(learner.learn, own, known[0], [], labels)

    # In turns, best of three: the machine's other work hits all alike.
    jobs = (loop, one, five, members(1), members(SEEDS))
    times = np.min([[_seconds(job) for job in jobs] for _ in range(3)], axis=0)
    seconds_loop, seconds_one, seconds_five, one_member, five_members = (float(t) for t in times)
    per_seed = seconds_five / SEEDS
    return {
        "loop_seconds": seconds_loop,
        "batched_seconds": seconds_one,
        "five_seeds_seconds_per_run": per_seed,
        "batched_over_loop": seconds_loop / seconds_one,
        "five_seeds_over_loop": seconds_loop / per_seed,
        "five_members_seconds": five_members,
        "twice_one_member_over_five": 2 * one_member / five_members,
    }


def _run(job: Callable[..., object], *given: object) -> None:
    job(*given)


def _seconds(job: Callable[[], None]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


FLOORS = {"batched_over_loop": 2.5, "five_seeds_over_loop": 6.0, "twice_one_member_over_five": 1.0}
