"""Strategies on a pool that is spread over workers pick what they pick on the whole pool."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from soel.ask import space
from soel.ask.base import Strategy
from soel.ask.diverse import Diverse
from soel.ask.k_center import KCenter
from soel.ask.margin import Margin
from soel.ask.sharded import can_shard, select_sharded
from soel.ask.shards import Shard
from soel.ask.space import BLOCK_ROWS, Origin
from soel.types import Floats, PoolView

N_ROWS = 7 * BLOCK_ROWS + 123
STRATEGIES = [Diverse(), Diverse(first="central"), KCenter(), KCenter(first="central")]
NAMES = ["diverse", "diverse-central", "k-center", "k-center-central"]


@dataclass(frozen=True)
class Here:
    """Shards in this process."""

    shards: list[Shard]
    n_rows: int

    def settle(self, origin: Origin, free: np.ndarray) -> None:
        bounds = [*(shard.start for shard in self.shards), self.n_rows]
        for shard, (start, stop) in zip(self.shards, pairwise(bounds), strict=True):
            shard.settle(origin, free[start:stop])

    def ask(self, what: str, *given: Any) -> list[Any]:
        return [getattr(shard, what)(*given) for shard in self.shards]


def spread(x: Floats, n_shards: int) -> Here:
    n_blocks = -(-len(x) // BLOCK_ROWS)
    starts = [n_blocks * number // n_shards * BLOCK_ROWS for number in range(n_shards)]
    return Here([Shard(x[a:b], a) for a, b in pairwise([*starts, len(x)])], len(x))


def pool(far: float) -> Floats:
    """Rows around a point, some of them twice, so that ties happen."""
    x = np.random.default_rng(1).standard_normal((N_ROWS, 5)).astype(np.float32) + np.float32(far)
    x[-500:] = x[:500]
    return x


def some_labels() -> np.ndarray:
    labels = np.full(N_ROWS, -1, np.int8)
    labels[[3, 5 * BLOCK_ROWS, N_ROWS - 1]] = [1, 0, 0]
    labels[2 * BLOCK_ROWS : 3 * BLOCK_ROWS : 100] = 0
    return labels


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
@pytest.mark.parametrize("far", [0.3, 100.0], ids=["near-zero", "far-from-zero"])
@pytest.mark.parametrize("known", [False, True], ids=["nothing-known", "some-known"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=NAMES)
def test_however_the_rows_are_spread_the_same_are_picked(
    strategy: Strategy, known: bool, far: float, n_shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "EXACT_ROWS", 200)  # the sample that stands for all rows: smaller is faster
    x, labels = pool(far), some_labels() if known else np.full(N_ROWS, -1, np.int8)
    whole = strategy.select(PoolView(np.zeros(N_ROWS), x, labels), 6, np.random.default_rng(4))
    parts = select_sharded(strategy, spread(x, n_shards), labels, 6, np.random.default_rng(4))
    assert parts.rows.tolist() == whole.rows.tolist()
    np.testing.assert_allclose(parts.odds, whole.odds, rtol=1e-6)  # exp in float32, relative to a shard's own top


def test_a_shard_whose_rows_are_all_labelled_offers_none() -> None:
    x, labels = pool(0.0)[: 2 * BLOCK_ROWS], np.full(2 * BLOCK_ROWS, -1, np.int8)
    labels[:BLOCK_ROWS] = 0
    whole = KCenter().select(PoolView(np.zeros(len(x)), x, labels), 1, np.random.default_rng(0))
    parts = select_sharded(KCenter(), spread(x, 2), labels, 1, np.random.default_rng(0))
    assert parts.rows.tolist() == whole.rows.tolist()


def test_only_rules_that_need_all_distances_are_spread() -> None:
    assert can_shard(KCenter(), N_ROWS)
    assert not can_shard(KCenter(), BLOCK_ROWS)
    assert not can_shard(Margin(), N_ROWS)
