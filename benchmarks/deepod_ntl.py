"""Rows trained and scored per second beside DeepOD's NeuTraL: 6,000 x 36 rows, 9 views, the same network sizes.

Each side runs as its own defaults say: DeepOD in batches of 64, this package in batches of a fifth of the pool. The
ratios with equal batches are printed too, and the share of the machine's own matrix speed that training reaches.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from soel.networks import Model, losses, warm_up
from soel.networks.row_networks import TableNTL
from soel.numeric import n_cores
from soel.settings import Schedule

N_ROWS, N_COLUMNS, N_VIEWS, EPOCHS, SMALL = 6000, 36, 9, 3, 64
VIEW_PRODUCTS = 3 * N_COLUMNS**2  # multiply-adds of one view of one row
ENCODER_PRODUCTS = N_COLUMNS * 64 + 64 * 64 + 64 * 32


def measure() -> dict[str, float]:
    """Rows per second on both sides, in turns, and their ratios."""
    x = np.random.default_rng(0).standard_normal((N_ROWS, N_COLUMNS), dtype=np.float32)
    fifth = N_ROWS // 5
    sides: dict[str, Callable[[], tuple[float, float]]] = {
        "ours": lambda: ours(x, fifth),
        "ours_small": lambda: ours(x, SMALL),
        "deepod": lambda: deepod(x, SMALL),
        "deepod_large": lambda: deepod(x, fifth),
    }
    runs = [{name: run() for name, run in sides.items()} for _ in range(4)]
    trained, scored = ({name: max(run[name][at] for run in runs) for name in sides} for at in (0, 1))
    return {
        "rows_trained_per_second": trained["ours"],
        "rows_scored_per_second": scored["ours"],
        "trained_over_deepod": trained["ours"] / trained["deepod"],
        "scored_over_deepod": scored["ours"] / scored["deepod"],
        "trained_over_deepod_batch_64": trained["ours_small"] / trained["deepod"],
        "trained_over_deepod_batch_1200": trained["ours"] / trained["deepod_large"],
        "scored_over_deepod_batch_1200": scored["ours"] / scored["deepod_large"],
        "training_share_of_matrix_speed": trained["ours"] * 3 * flops_per_row() / matrix_speed(),
        "scoring_share_of_matrix_speed": scored["ours"] * flops_per_row() / matrix_speed(),
    }


def ours(x: np.ndarray, batch_size: int) -> tuple[float, float]:
    """Rows trained and scored per second by one member."""
    rng = np.random.default_rng(0)
    model = Model(TableNTL(N_COLUMNS, [rng], N_VIEWS), [rng], learning_rate=1e-3)
    schedule = Schedule(EPOCHS, learning_rate=1e-3, batch_size=batch_size, warm_up_epochs=EPOCHS)
    training = seconds(lambda: warm_up(model, x, schedule))
    return EPOCHS * N_ROWS / training, N_ROWS / seconds(lambda: losses(model, x))


def deepod(x: np.ndarray, batch_size: int) -> tuple[float, float]:
    """The same of DeepOD. Its `fit` scores the training rows too: that part is taken off."""
    from deepod.models.tabular.neutral import NeuTraL

    detector = NeuTraL(
        epochs=EPOCHS,
        batch_size=batch_size,
        n_trans=N_VIEWS,
        rep_dim=32,
        hidden_dims="64,64",
        trans_hidden_dims="36,36",
        act="ReLU",
        device="cpu",
        verbose=0,
    )
    both = seconds(lambda: detector.fit(x))
    scoring = seconds(lambda: detector.decision_function(x))
    return EPOCHS * N_ROWS / (both - scoring), N_ROWS / scoring


def flops_per_row() -> float:
    """Floating-point operations of one row's forward pass: views, encoder, products between codes."""
    return 2.0 * (N_VIEWS * VIEW_PRODUCTS + (N_VIEWS + 1) * (ENCODER_PRODUCTS + (N_VIEWS + 1) * 32))


def matrix_speed() -> float:
    """Operations per second of a large matrix product on all cores: what this machine can do."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_cores())
    a = torch.randn(2048, 2048)
    best = min(seconds(lambda: a @ a) for _ in range(5))
    torch.set_num_threads(before)
    return 2 * 2048**3 / best


def seconds(job: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


FLOORS = {"trained_over_deepod": 4.0, "scored_over_deepod": 3.0}
