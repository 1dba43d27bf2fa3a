"""On a GPU: an epoch of the paper's NTL on feature vectors beside a loop over its views, and of MHRot on pictures.

The vectors have 2,048 values and 15 views; MHRot stands beside the floor by its operations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from benchmarks.loop_ntl import LoopNTL, train_loop
from soel.learner import Learner
from soel.networks import fit
from soel.settings import AUTHORS, DEFAULT, Profile
from soel.types import Estimate, Kind, Pool

N_ROWS, N_FEATURES, N_LABELS, BATCH = 5555, 2048, 20, 512
FEW, MANY = 2, 12  # epochs; the difference leaves out what is done once
SHARE = Estimate(0.1, 0.1, 0.1, "fixed")
# A view takes 0.39e9 multiply-adds forward, twice that backward; beside each 10 pictures stand 20 labelled ones.
MHROT_FLOOR = 2 * 3 * 0.39e9 * 36 * 3 * N_ROWS / 989e12  # seconds at the dense bfloat16 peak of an H200
AIM_SUMMED, AIM_TWO = 0.07, 0.10  # seconds on one H200; its floor by bytes and operations is about 0.025


def measure() -> dict[str, float]:
    """Seconds per epoch, the best of three, and the loop's over ours; nothing without a GPU."""
    if not torch.cuda.is_available():
        print("gpu_epoch       torch sees no GPU: nothing to measure")
        return {}
    pool = np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    exact = replace(AUTHORS, vectors=replace(AUTHORS.vectors, precision="highest"))
    jobs = {
        "summed_step": _ours(replace(DEFAULT, n_members=1), pool),
        "two_steps": _ours(AUTHORS, pool),
        "two_steps_float32": _ours(exact, pool),
        "loop_two_steps": _loop(pool),
    }
    epochs = {name: min(_epoch(job) for _ in range(3)) for name, job in jobs.items()}
    epochs["mhrot"] = _epoch(_ours(AUTHORS.with_parts(backbone="mhrot"), _pictures(), Kind.PICTURES), 1, 2)
    return {f"{name}_seconds": seconds for name, seconds in epochs.items()} | {
        "mhrot_over_floor": epochs["mhrot"] / MHROT_FLOOR,
        "two_steps_over_loop": epochs["loop_two_steps"] / epochs["two_steps"],
        "summed_step_over_aim": AIM_SUMMED / epochs["summed_step"],
        "two_steps_over_aim": AIM_TWO / epochs["two_steps"],
    }


def _pictures() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (N_ROWS, 32 * 32 * 3)).astype(np.float32)


def _ours(profile: Profile, pool: np.ndarray, kind: Kind = Kind.VECTORS) -> Callable[[int], None]:
    labels = np.full(N_ROWS, -1, np.int8)
    labels[:N_LABELS] = np.arange(N_LABELS) % 2
    known = Pool.of(pool, kind)
    learner = Learner(profile.settle(kind, pool.shape[1], has_gpu=True), seed=0)
    network, warm = learner.new_network(known), learner.warm(known, None)

    def run(epochs: int) -> None:
        model = network.model.copy()
        schedule = replace(learner.profile.schedule, epochs=epochs)
        fit(model, pool, [learner.task(warm, known, labels, SHARE)], schedule, learner.objective.always_summed)

    return run


def _loop(pool: np.ndarray) -> Callable[[int], None]:
    rows, y = torch.from_numpy(pool).cuda(), (torch.arange(N_LABELS) % 2).float().cuda()
    model = LoopNTL.for_features(N_FEATURES).cuda()

    def run(epochs: int) -> None:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        train_loop(model, rows, y, SHARE.value, epochs, BATCH, rate=1e-4)
        torch.set_float32_matmul_precision(before)

    return run


def _epoch(job: Callable[[int], None], few: int = FEW, many: int = MANY) -> float:
    return (_seconds(job, many) - _seconds(job, few)) / (many - few)


def _seconds(job: Callable[[int], None], epochs: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    job(epochs)
    torch.cuda.synchronize()
    return time.perf_counter() - start


FLOORS = {"two_steps_over_loop": 2.0}
