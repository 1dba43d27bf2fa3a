"""What holds of every explanation, whatever the score."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.explain.explain import MOST_STEPS
from soel.types import Floats
from tests.explain.made_up import explainer, sum_of


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 60), n_rows=st.integers(1, 70))
def test_law_contributions_add_up_to_the_score(seed: int, n_columns: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    pool = rng.normal(size=(50, n_columns)) @ rng.normal(size=(n_columns, n_columns))

    def score(x: Floats) -> Floats:
        return np.asarray(np.log1p(np.square(x).sum(axis=1)) + np.sin(3 * x[:, 0]) * x[:, -1])

    x = 3 * rng.normal(size=(n_rows, n_columns))
    found = explainer(pool, score).explain(x)
    np.testing.assert_allclose(sum_of(found), score(x.astype(np.float32)), rtol=1e-6)
    assert ((found.contributions != 0).sum(axis=1) <= MOST_STEPS).all()
    named = [[column for part in np.flatnonzero(row) for column in found.parts[part]] for row in found.contributions]
    assert all(len(columns) == len(set(columns)) for columns in named)  # a group or its columns, never both


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 6))
def test_law_an_additive_score_is_explained_exactly(seed: int, n_columns: int) -> None:
    rng = np.random.default_rng(seed)
    pool, weights = rng.normal(size=(60, n_columns)), rng.normal(size=n_columns)
    x = 5 * rng.normal(size=(4, n_columns)).astype(np.float32)
    made = explainer(pool, lambda rows: np.square(rows) @ weights)
    found, ordinary = made.explain(x), made.ordinary
    for part, columns in enumerate(found.parts):
        lent = ordinary.lent[np.searchsorted(ordinary.positions, found.reference)][:, columns]
        exact = (np.square(x[:, columns]) - np.square(lent)) @ weights[list(columns)]
        named = found.contributions[:, part] != 0
        np.testing.assert_allclose(found.contributions[named, part], exact[named], rtol=1e-4, atol=1e-4)


def curved(x: Floats) -> Floats:
    return np.asarray(np.log1p(np.square(x, dtype=np.float64).sum(axis=1)))


def off_in_one(rng: np.random.Generator, n_columns: int, n_rows: int = 4) -> tuple[Floats, Floats]:
    """A pool of columns that do not hang together, and rows with a wrong value each."""
    pool, x = rng.normal(size=(60, n_columns)), rng.normal(size=(n_rows, n_columns))
    x[np.arange(n_rows), rng.integers(0, n_columns, n_rows)] += 7
    return pool, x


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(3, MOST_STEPS))
def test_law_permuting_columns_permutes_the_answer(seed: int, n_columns: int) -> None:
    rng = np.random.default_rng(seed)
    pool, x = off_in_one(rng, n_columns)
    weights, order = rng.uniform(0.5, 2, n_columns), rng.permutation(n_columns)
    one = explainer(pool, lambda rows: curved(rows * weights)).explain(x)
    other = explainer(pool[:, order], lambda rows: curved(rows * weights[order])).explain(x[:, order])
    np.testing.assert_allclose(other.contributions, one.contributions[:, order], atol=1e-5)
    np.testing.assert_allclose(other.alone, one.alone[:, order], atol=1e-5)
    np.testing.assert_array_equal(other.lenders, one.lenders[:, order])
    np.testing.assert_array_equal(other.reference, one.reference)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(2, 8), data=st.data())
def test_law_a_column_that_the_score_ignores_gets_nothing(seed: int, n_columns: int, data: st.DataObject) -> None:
    pool, x = off_in_one(np.random.default_rng(seed), n_columns)
    ignored = data.draw(st.integers(0, n_columns - 1))
    found = explainer(pool, lambda rows: curved(np.delete(rows, ignored, axis=1))).explain(x)
    assert found.contributions[:, ignored].tolist() == [0] * len(x)
    np.testing.assert_allclose(found.alone[:, ignored], found.scores, rtol=1e-12)
    assert found.ranks_alone[:, ignored].tolist() == found.ranks.tolist()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.integers(-1000, 1000), power=st.integers(-6, 6))
def test_law_contributions_are_in_units_of_the_score_whatever_its_zero(seed: int, shift: int, power: int) -> None:
    pool, x = off_in_one(np.random.default_rng(seed), 4)
    one = explainer(pool, curved).explain(x)
    other = explainer(pool, lambda rows: curved(rows) * 2.0**power + shift).explain(x)
    for name, zero in (("contributions", 0), ("remainder", 0), ("baseline", shift), ("alone", shift)):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name) * 2.0**power + zero, atol=1e-8)
    np.testing.assert_array_equal(other.lenders, one.lenders)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 5))
def test_law_what_is_said_of_alone_and_of_the_baseline_is_what_the_lenders_give(seed: int, n_columns: int) -> None:
    pool, x = off_in_one(np.random.default_rng(seed), n_columns)
    made = explainer(pool, curved)
    found, ordinary = made.explain(x), made.ordinary
    np.testing.assert_allclose(found.baseline, curved(pool[found.reference].astype(np.float32)))
    for part in range(n_columns):
        changed = x.astype(np.float32)
        changed[:, part] = ordinary.lent[np.searchsorted(ordinary.positions, found.lenders[:, part]), part]
        np.testing.assert_allclose(found.alone[:, part], curved(changed))
