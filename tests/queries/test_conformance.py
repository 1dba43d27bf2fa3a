"""Laws of every strategy in the registry, with every backbone's embeddings."""

from __future__ import annotations

import tracemalloc
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.backbones import BACKBONES
from soel.engines.local import LocalEngine
from soel.errors import ConfigError, DataError
from soel.profiles import PAPER, PICTURE_BACKBONES
from soel.queries import STRATEGIES
from soel.queries.base import Strategy
from soel.types import PoolView, Selection
from tests.conftest import Sample, make_toy

NAMES = list(STRATEGIES)
ROW_BACKBONES = [name for name in BACKBONES if name not in PICTURE_BACKBONES]


def make_view(n_rows: int = 60, seed: int = 0, labels: np.ndarray | None = None) -> PoolView:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4)).astype(np.float32)
    labels = np.full(n_rows, -1, np.int8) if labels is None else labels
    return PoolView(np.linalg.norm(x, axis=1), x, labels, 0.1)


def pick(name: str, view: PoolView, n: int, seed: int = 0, reserve: int = 0) -> Selection:
    strategy: Strategy = STRATEGIES.create(name)
    return strategy.select(view, n, np.random.default_rng(seed), reserve)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(n_rows=st.integers(2, 40), seed=st.integers(0, 5), data=st.data())
def test_queries_are_distinct_unlabelled_and_as_many_as_asked(
    name: str, n_rows: int, seed: int, data: st.DataObject
) -> None:
    n_labelled = data.draw(st.integers(0, n_rows - 1))
    labels = np.full(n_rows, -1, np.int8)
    labels[:n_labelled] = 0
    n = data.draw(st.integers(1, n_rows - n_labelled))
    rows = pick(name, make_view(n_rows, seed, labels), n, seed).rows
    assert len(set(rows.tolist())) == n
    assert (labels[rows] == -1).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_queries_and_odds(name: str) -> None:
    view = make_view()
    first, second = pick(name, view, 8, seed=3), pick(name, view, 8, seed=3)
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_array_equal(first.odds, second.odds)


@pytest.mark.parametrize("name", NAMES)
def test_odds_are_probabilities(name: str) -> None:
    odds = pick(name, make_view(), 10).odds
    assert ((odds > 0) & (odds <= 1)).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "k-means-parallel"])
def test_the_reserve_follows_the_queries(name: str) -> None:
    view = make_view()
    np.testing.assert_array_equal(pick(name, view, 6, reserve=10).rows[:6], pick(name, view, 6).rows)
    assert len(pick(name, view, 6, reserve=10).rows) == 16


@pytest.mark.parametrize("name", NAMES)
def test_the_view_is_left_as_it_was(name: str) -> None:
    view = make_view()
    before = [view.scores.copy(), view.embeddings.copy(), view.labels.copy()]
    pick(name, view, 5)
    for old, new in zip(before, (view.scores, view.embeddings, view.labels), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("name", NAMES)
def test_all_rows_the_same_is_no_trouble(name: str) -> None:
    view = PoolView(np.zeros(12), np.ones((12, 3), np.float32), np.full(12, -1, np.int8), 0.1)
    assert len(set(pick(name, view, 12).rows.tolist())) == 12


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "message"), [(0, "At least one"), (61, "only 60 of 60")])
def test_impossible_budgets_are_refused(name: str, n: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pick(name, make_view(), n)


@pytest.mark.parametrize("name", NAMES)
def test_rules_that_need_the_contamination_say_so(name: str) -> None:
    view = make_view()
    blind = PoolView(view.scores, view.embeddings, view.labels)
    if STRATEGIES.get(name).needs_contamination:
        with pytest.raises(ConfigError, match="share of anomalies"):
            pick(name, blind, 3)
    else:
        assert len(pick(name, blind, 3).rows) == 3


@pytest.mark.parametrize("name", NAMES)
def test_memory_grows_with_the_rows_not_with_their_square(name: str) -> None:
    peaks = []
    for n_rows in (6000, 12000):
        view = make_view(n_rows)
        tracemalloc.start()
        pick(name, view, 5)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.5 * peaks[0]
    assert peaks[1] < 12000 * 12000 * 4 / 8


@cache
def looked(backbone: str) -> tuple[LocalEngine, object]:
    engine = LocalEngine(PAPER.with_parts(backbone=backbone), seed=0)
    return engine, engine.warm_up(make_toy().x)


@pytest.mark.parametrize("backbone", ROW_BACKBONES)
@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_works_with_every_backbone(name: str, backbone: str, toy: Sample) -> None:
    engine, warm = looked(backbone)
    gradient = STRATEGIES.get(name).space == "gradient"
    scores, embeddings = engine.look(warm, toy.x, 0.1 if gradient else None)  # type: ignore[arg-type]
    selection = pick(name, PoolView(scores, embeddings, toy.labels(4), 0.1), 8)
    assert len(set(selection.rows.tolist())) == 8
