"""Laws of every objective for any pool and any labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.networks.objectives import OBJECTIVES
from soel.types import ItemWeights, PoolView

FIXED = [name for name in OBJECTIVES if name not in ("soel", "supervised", "loe-soft", "loe-hard")]


@st.composite
def views(draw: st.DrawFn) -> PoolView:
    n_rows = draw(st.integers(4, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    labels = np.full(n_rows, -1, np.int8)
    known = draw(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=n_rows - 1))
    labels[rng.choice(n_rows, len(known), replace=False)] = known
    return PoolView(rng.normal(size=n_rows), rng.normal(size=(n_rows, 2)).astype(np.float32), labels, 0.1)


def of(name: str, part: str, view: PoolView) -> ItemWeights:
    found = getattr(OBJECTIVES.create(name), part)(view)
    assert isinstance(found, ItemWeights)
    return found


@pytest.mark.parametrize("name", FIXED)
@given(view=views())
@settings(max_examples=25, deadline=None)
def test_weights_are_never_negative_and_one_for_each_row(name: str, view: PoolView) -> None:
    found = of(name, "unlabelled", view)
    assert len(found.normal) == len(found.anomaly) == (len(view) if name == "all-normal" else len(view.unlabelled))
    for weights in (found.normal, found.anomaly):
        assert weights.dtype == np.float32
        assert (weights >= 0).all()
    if name != "refinement":
        np.testing.assert_array_equal(found.normal + found.anomaly, 1)  # each row counts once


@pytest.mark.parametrize("name", ["refinement", "neighbour-labels"])
@given(view=views(), seed=st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_plays_no_part(name: str, view: PoolView, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(view))
    moved = PoolView(view.scores[order], view.embeddings[order], view.labels[order], view.contamination)
    plain = dict(zip(view.unlabelled.tolist(), of(name, "unlabelled", view).normal.tolist(), strict=True))
    again = dict(zip(order[moved.unlabelled].tolist(), of(name, "unlabelled", moved).normal.tolist(), strict=True))
    assert plain.keys() == again.keys()
    np.testing.assert_allclose([again[row] for row in plain], list(plain.values()), atol=1e-5)


@given(view=views())
@settings(max_examples=25, deadline=None)
def test_refinement_never_teaches_an_anomaly(view: PoolView) -> None:
    known = of("refinement", "labelled", view)
    assert not known.anomaly.any()
    assert not known.normal[view.labels[view.labelled] == 1].any()
    assert (known.normal <= 2 * len(view.labelled) / len(view) + 1e-6).all()
    assert (of("refinement", "unlabelled", view).normal <= 2 * len(view.unlabelled) / len(view) + 1e-6).all()
