"""Every strategy in the registry keeps the kit's laws. A new one joins by its registry entry."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from soel import networks
from soel.ask import STRATEGIES
from soel.networks import BACKBONES
from soel.settings import PAPER, PICTURE_BACKBONES
from soel.testing import STRATEGY_LAWS
from soel.testing.laws import Law, example_view
from tests.conftest import Sample, make_learner

NAMES = list(STRATEGIES)
ROW_BACKBONES = [name for name in BACKBONES if name not in PICTURE_BACKBONES]


@pytest.mark.parametrize("law", STRATEGY_LAWS)
@pytest.mark.parametrize("name", NAMES)
def test_laws(name: str, law: Law[Any]) -> None:
    law(partial(STRATEGIES.create, name))


@pytest.mark.parametrize("name", NAMES)
def test_memory_grows_with_the_rows(name: str) -> None:
    peaks = []
    for n_rows in (6000, 12000):
        view, strategy = example_view(n_rows), STRATEGIES.create(name)
        tracemalloc.start()
        strategy.select(view, 5, np.random.default_rng(0))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.5 * peaks[0]
    assert peaks[1] < 12000 * 12000 / 2  # never all pairs


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(n_rows=st.integers(2, 40), seed=st.integers(0, 5), data=st.data())
def test_any_number_of_rows_labels_and_queries(name: str, n_rows: int, seed: int, data: st.DataObject) -> None:
    view = example_view(n_rows, seed, n_labelled=data.draw(st.integers(0, n_rows - 1)))
    n = data.draw(st.integers(1, len(view.unlabelled)))
    rows = STRATEGIES.create(name).select(view, n, np.random.default_rng(seed)).rows
    assert len(set(rows.tolist())) == len(rows) == n
    assert np.isin(rows, view.unlabelled).all()


@pytest.mark.parametrize("backbone", ROW_BACKBONES)
def test_every_strategy_works_with_what_a_backbone_shows(backbone: str, toy: Sample) -> None:
    learner, pool = make_learner(PAPER.with_parts(backbone=backbone), toy.x, contamination=0.1)
    warm, labels = learner.prepare(pool), toy.labels(4)
    gradients = networks.gradient_embeddings(warm.trained.model, pool.rows, toy.is_anomaly, 0)
    for space in (learner.look(warm, pool)[1], gradients):
        assert len(np.unique(space.round(6), axis=0)) > 150, "a space in which most rows are one point"
    for name in NAMES:
        asking = replace(learner, profile=learner.profile.with_parts(strategy=name))
        rows = asking.propose(warm, pool, labels, 8).rows
        assert len(set(rows.tolist())) == len(rows) == 8, name
        assert (labels[rows] == -1).all(), name
