"""The diverse rule: exact odds, its limits, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from soel.ask.by_distance import Diverse, draw_row
from soel.ask.space import BLOCK_ROWS, Space
from soel.assess.metrics import cover_radius
from soel.types import PoolView


def line(positions: list[float], labels: list[int] | None = None) -> PoolView:
    x = np.array(positions, np.float32)[:, None]
    known = np.full(len(x), -1, np.int8) if labels is None else np.array(labels, np.int8)
    return PoolView(np.zeros(len(x)), x, known)


def test_draws_follow_the_softmax() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2]))
    counts = np.bincount([draw_row(logits, seed, 0)[0] for seed in range(4000)], minlength=3) / 4000
    np.testing.assert_allclose(counts, [0.5, 0.3, 0.2], atol=0.03)


def test_a_cold_rule_takes_the_farthest() -> None:
    selection = Diverse(temperature=1e-6).select(line([0, 1, 9, 10], [0, -1, -1, -1]), 2, np.random.default_rng(0))
    assert selection.rows.tolist()[0] == 3
    np.testing.assert_allclose(selection.odds, [1, 0.5], rtol=1e-3)  # then 1 and 9 lie as far from what is known


def test_it_covers_better_than_chance() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(500, 3)), rng.normal(8, 0.3, size=(10, 3))]).astype(np.float32)
    view = PoolView(np.zeros(len(x)), x, np.full(len(x), -1, np.int8))
    diverse = [cover_radius(x, Diverse().select(view, 10, np.random.default_rng(s)).rows) for s in range(10)]
    chance = [cover_radius(x, np.random.default_rng(s).choice(len(x), 10)) for s in range(10)]
    assert np.mean(diverse) < 0.6 * np.mean(chance)


def test_odds_are_those_of_the_softmax_and_rows_without_any_are_not_drawn() -> None:
    logits = np.random.default_rng(0).normal(0, 3, size=3000).astype(np.float32)
    logits[700:1400] = -np.inf
    chances = np.exp(logits.astype(np.float64)) / np.exp(logits.astype(np.float64)).sum()
    for seed in range(20):
        row, odds = draw_row(logits, seed, 4)
        assert 0 < odds == pytest.approx(chances[row], rel=1e-5)


def test_odds_over_several_blocks_are_those_of_all_distances() -> None:
    x = np.random.default_rng(0).normal(size=(5 * BLOCK_ROWS + 7, 3)).astype(np.float32)
    labels = np.full(len(x), -1, np.int8)
    labels[[5, 3 * BLOCK_ROWS]] = [0, 1]
    selection = Diverse(temperature=0.1).select(PoolView(np.zeros(len(x)), x, labels), 3, np.random.default_rng(0))
    unit, taken = 0.1 * Space(x).diameter(), [5, 3 * BLOCK_ROWS]
    for row, odds in zip(selection.rows, selection.odds, strict=True):
        away = np.min([np.linalg.norm(x.astype(np.float64) - x[other], axis=1) for other in taken], axis=0)
        chances = np.exp(away / unit)
        chances[taken] = 0
        assert odds == pytest.approx(chances[row] / chances.sum(), rel=1e-4)
        taken.append(int(row))
