"""Training whose rows are spread over several workers computes what one worker computes with all of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from soel.learner import Learner
from soel.networks import Model, fit, losses, warm_up
from soel.networks.batch import Shard
from soel.networks.objectives import Task
from soel.networks.ranks import Ranks
from soel.settings import AUTHORS, DEFAULT, PAPER, Profile
from soel.types import ItemWeights, Kind, RankedWeights
from tests.conftest import make_toy

RATE, EPOCHS = 0.1, 4
TOY = make_toy(n_rows=203)  # no multiple of anything: the last batch and the last shard are shorter


class Threads(Ranks):
    """Ranks that are threads of this process; their sums are taken in the order of the ranks."""

    def __init__(self, rank: int, given: list[Tensor], barrier: threading.Barrier) -> None:
        self.n_ranks, self._rank, self._given, self._barrier = len(given), rank, given, barrier

    def total(self, values: Tensor) -> Tensor:
        self._given[self._rank] = values
        self._barrier.wait()
        whole = torch.stack(self._given).sum(0)
        self._barrier.wait()
        return whole


def run_on(n_ranks: int, bounds: list[int], work: Callable[[Shard], Model]) -> list[Model]:
    """The models of all ranks, of which each has the rows between two bounds."""
    barrier, given = threading.Barrier(n_ranks, timeout=60), [torch.zeros(())] * n_ranks
    shards = [
        Shard(TOY.x[start:stop], start, len(TOY.x), Threads(rank, given, barrier))
        for rank, (start, stop) in enumerate(pairwise(bounds))
    ]
    with ThreadPoolExecutor(n_ranks) as pool:
        return list(pool.map(work, shards))


def even_bounds(n_ranks: int) -> list[int]:
    return [len(TOY.x) * rank // n_ranks for rank in range(n_ranks + 1)]


def short(profile: Profile, **changes: Any) -> Learner:
    tables = replace(profile.tables, epochs=EPOCHS, detector=None)
    settled = replace(profile, tables=tables, **changes).settle(Kind.TABLE, TOY.x.shape[1])
    return Learner(settled, seed=3)


def trained(engine: Learner, pool: np.ndarray | Shard, dtype: torch.dtype) -> Model:
    model = engine.new_model(TOY.x.shape[1])
    model.backbone.to(dtype)
    schedule = engine.profile.tables
    warm_up(model, pool, schedule)
    labels = TOY.labels()
    known, rest = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    anomaly = labels[known].astype(np.float32)
    task = Task(known, ItemWeights(1 - anomaly, anomaly), rest, RankedWeights(0.5), RATE)
    fit(model, pool, [task] * model.n_members, schedule)
    return model


def largest_difference(one: Model, other: Model) -> float:
    mine, theirs = one.backbone.state_dict(), other.backbone.state_dict()
    return max(float((mine[name] - theirs[name]).abs().max()) for name in mine)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("profile", [DEFAULT, AUTHORS], ids=["summed", "split"])
def test_in_float64_the_number_of_ranks_changes_nothing(profile: Profile, n_ranks: int) -> None:
    engine = short(profile)
    alone = trained(engine, TOY.x, torch.float64)
    models = run_on(n_ranks, even_bounds(n_ranks), lambda shard: trained(engine, shard, torch.float64))
    for model in models:
        assert largest_difference(model, alone) < 1e-9
        assert model.notes()["generators"] == alone.notes()["generators"]
        np.testing.assert_allclose(model.history, alone.history, rtol=1e-5)


@pytest.mark.parametrize(
    ("backbone", "options"), [("deep-svdd", {"widths": (12, 8)}), ("autoencoder", {}), ("classifier", {})]
)
def test_every_divisible_backbone_may_be_spread(backbone: str, options: dict[str, Any]) -> None:
    engine = short(DEFAULT, backbone=backbone, backbone_options=options)
    alone = trained(engine, TOY.x, torch.float64)
    (model, *_) = run_on(3, even_bounds(3), lambda shard: trained(engine, shard, torch.float64))
    assert largest_difference(model, alone) < 1e-9


@pytest.mark.parametrize("bounds", [[0, 1, 203], [0, 100, 101, 203]], ids=["one-row", "one-row-between"])
def test_a_rank_may_have_no_row_of_a_batch(bounds: list[int]) -> None:
    engine = short(DEFAULT)
    alone = trained(engine, TOY.x, torch.float64)
    (model, *_) = run_on(len(bounds) - 1, bounds, lambda shard: trained(engine, shard, torch.float64))
    assert largest_difference(model, alone) < 1e-9


@pytest.mark.parametrize("n_ranks", [2, 7])
@pytest.mark.parametrize("profile", [DEFAULT, PAPER], ids=["ranked-by-batch", "ranked-by-epoch"])
def test_in_float32_scores_differ_by_rounding_only(profile: Profile, n_ranks: int) -> None:
    engine = short(profile)
    alone = trained(engine, TOY.x, torch.float32)
    first, *others = run_on(n_ranks, even_bounds(n_ranks), lambda shard: trained(engine, shard, torch.float32))
    difference = np.abs(losses(first, TOY.x)[0] - losses(alone, TOY.x)[0])
    assert np.quantile(difference, 0.99) < 1e-3
    assert difference.max() < 0.05  # a value within 1e-8 of a ReLU's kink may fall to its other side: seen, 0.0126
    for other in others:
        assert largest_difference(first, other) == 0


def test_a_training_goes_on_from_any_epoch_as_if_it_had_not_stopped() -> None:
    engine = short(DEFAULT)
    schedule = replace(engine.profile.tables, warm_up_epochs=3)
    kept: dict[int, tuple[dict[str, Tensor], dict[str, Any]]] = {}

    def keep(epoch: int, model: Model) -> None:
        kept[epoch] = (model.tensors(), json.loads(json.dumps(model.notes())))

    whole = engine.new_model(TOY.x.shape[1])
    warm_up(whole, TOY.x, schedule, keep=lambda epoch: keep(epoch, whole))
    again = engine.new_model(TOY.x.shape[1])
    again.restore(*kept[2])
    warm_up(again, TOY.x, schedule, first_epoch=2)
    assert list(kept) == [1, 2, 3]
    assert largest_difference(whole, again) == 0
    assert again.history == whole.history
