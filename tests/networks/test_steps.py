"""The length of training is a number of steps, however large the pool is."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from soel.networks import Model, warm_up
from soel.networks.ntl import TableNTL
from soel.settings import Schedule


@pytest.mark.parametrize(("n_rows", "n_steps"), [(3, 3), (50, 5), (100, 5), (101, 5), (5000, 5)])
def test_a_large_pool_takes_as_many_steps_as_a_small_one(n_rows: int, n_steps: int) -> None:
    x = np.random.default_rng(0).normal(size=(n_rows, 4)).astype(np.float32)
    rng = np.random.default_rng(0)
    model = Model(TableNTL(4, [rng]), [rng], learning_rate=1e-3)
    with patch.object(model.optimizer, "step", wraps=model.optimizer.step) as step:
        warm_up(model, x, Schedule(epochs=1, learning_rate=1e-3, warm_up_epochs=2, rows_per_epoch=100))
    assert step.call_count == 2 * n_steps


def test_each_epoch_draws_other_rows() -> None:
    x = np.arange(4000, dtype=np.float32).reshape(1000, 4)
    rng = np.random.default_rng(0)
    model = Model(TableNTL(4, [rng]), [rng], learning_rate=1e-3)
    with patch.object(model.backbone, "losses", wraps=model.backbone.losses) as losses:
        warm_up(model, x, Schedule(epochs=1, learning_rate=1e-3, warm_up_epochs=3, rows_per_epoch=100))
    rows = np.concatenate([call.args[0][0, :, 0].numpy() for call in losses.call_args_list])
    assert len(rows) == 300
    assert len(np.unique(rows)) > 220  # three independent draws of 100 among 1,000 share few
