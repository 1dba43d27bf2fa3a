"""Rows explained by scores whose parts are known by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.explanations import Explainer, Explanation, Ordinary, find_ordinary, find_reasons
from soel.explanations.explain import MOST_STEPS, MOST_TRIED, Score
from soel.explanations.explanation import MOST_REASONS
from soel.types import UNLABELLED, Floats, Rows


def explainer(pool: Floats, score: Score, column_of: Rows | None = None) -> Explainer:
    columns = np.arange(pool.shape[1]) if column_of is None else column_of
    scores = score(pool)
    positions = find_ordinary(scores, np.full(len(pool), UNLABELLED, np.int8))
    names = tuple("abcdefghij"[at] if at < 10 else f"c{at}" for at in range(columns.max() + 1))
    ordinary = Ordinary.of(pool, positions, columns)
    return Explainer(score, lambda x, _: score(x), score, ordinary, names, scores)


def sum_of(explanation: Explanation) -> Floats:
    return np.asarray(explanation.baseline + explanation.contributions.sum(axis=1) + explanation.remainder)


def test_golden_of_an_additive_score() -> None:
    """Every ordinary row is (1, 2, 3): with the weights 1, 2, 4 the row (5, 2, 4) has 4 from a and 4 from c."""
    pool = np.tile(np.array([[1.0, 2.0, 3.0]]), (20, 1))
    found = explainer(pool, lambda x: x @ np.array([1.0, 2.0, 4.0])).explain(np.array([[5.0, 2.0, 4.0]]))
    np.testing.assert_allclose(found.contributions, [[4, 0, 4]])
    np.testing.assert_allclose(found.alone, [[21, 25, 21]])
    assert [found.scores.tolist(), found.baseline.tolist(), found.remainder.tolist()] == [[25], [17], [0]]
    assert found.ranks.tolist() == [1]
    assert found.ranks_alone.tolist() == [[1, 1, 1]]  # the pool scores 17 throughout
    assert found.first(0) == [0, 2]


def test_golden_of_a_rank() -> None:
    """The score is the value: 9 in place of 100 stands behind the one row of the pool that has 10."""
    pool = np.array([[9.0]] * 9 + [[10.0]])
    found = explainer(pool, lambda x: x[:, 0]).explain(np.array([[100.0]]))
    assert (found.ranks.tolist(), found.ranks_alone.tolist()) == ([1], [[2]])
    assert found.ranks_together.tolist() == [[2, 0, 0]]
    assert find_reasons(found, {"a": [100.0]}, {"a": pool[:9, 0]}, np.arange(9))[0][0].usual == (9.0,)


def test_golden_of_the_ranks_of_a_row_of_the_pool() -> None:
    """The last of ten is at most the tenth: with another value it does not stand behind itself."""
    pool = np.arange(10.0)[:, None]
    found = explainer(pool, lambda x: x[:, 0]).explain(pool[9:])
    usual = int(found.lenders[0, 0])
    assert (found.ranks.tolist(), found.ranks_alone.tolist()) == ([1], [[9 - usual]])  # so many have a higher value


def test_reasons_are_put_right_together() -> None:
    """Two wrong values, each enough for an alarm: only both together make the row ordinary."""
    rng = np.random.default_rng(5)
    pool = rng.uniform(-1, 1, size=(100, 4))
    found = explainer(pool, lambda x: np.abs(x).max(axis=1)).explain(np.array([[9.0, 0, 8, 0]]))
    assert [found.names(part) for part in found.first(0)] == [("a",), ("c",)]
    assert found.ranks_alone[0, [0, 2]].tolist() == [1, 1]
    together = found.ranks_together[0]
    assert (together[0], together[2]) == (1, 0)
    assert together[1] > 5


def test_what_a_label_adds_is_lost_with_what_raises_the_row() -> None:
    """A row that the model knows as an anomaly scores 10 more than others like it; put right, it is as others are."""
    pool = np.zeros((20, 2))
    made = explainer(pool, lambda x: x.sum(axis=1))
    known = replace(made, score=lambda x: x.sum(axis=1) + 10 * (x[:, 0] == 5))
    found = known.explain(np.array([[5.0, 0.0]]))
    assert found.scores.tolist() == [15]
    assert found.alone.tolist() == [[0, 15]]  # with the first put right as any row, with the second as it was
    assert found.contributions.tolist() == [[5, 0]]
    assert found.remainder.tolist() == [10]


def test_a_trifle_is_no_reason() -> None:
    pool = np.tile(np.array([[1.0, 1.0, 1.0]]), (20, 1))
    found = explainer(pool, lambda x: x.sum(axis=1)).explain(np.array([[100.0, 5.0, 30.0]]))
    assert found.contributions[0].tolist() == [99, 4, 29]
    assert found.first(0) == [0, 2]  # 4 of 132 is less than a twentieth


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


def from_the_line(x: Floats) -> Floats:
    """How far (a, b) lies from a = b, and how far out, with a third column that plays no part."""
    return np.asarray(np.square(x[:, 0] - x[:, 1]) * 20 + np.square(x[:, :2]).sum(axis=1))


@pytest.fixture
def line() -> Explainer:
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    return explainer(np.stack([a, a + 0.1 * rng.normal(size=500), rng.normal(size=500)], axis=1), from_the_line)


def test_correlated_columns_are_named_together_where_only_together_they_explain(line: Explainer) -> None:
    found = line.explain(np.array([[6.0, 6.0, 0.0]]))  # both are far out, and fit one another
    assert found.parts == ((0,), (1,), (2,), (0, 1))
    assert found.first(0, 1) == [3]
    assert found.names(3) == ("a", "b")
    assert found.lenders[0, 3] >= 0
    np.testing.assert_array_equal(found.contributions[0, :2], 0)


def test_one_wrong_value_of_two_correlated_ones_is_named_alone(line: Explainer) -> None:
    found = line.explain(np.array([[6.0, 0.3, 0.0]]))
    assert found.first(0, 1) == [0]
    usual = line.ordinary.rows[np.searchsorted(line.ordinary.positions, found.lenders[0, 0]), 0]
    assert abs(usual - 0.3) < 0.3  # what fits the other column


def test_several_features_of_one_column_are_replaced_together() -> None:
    """Two features that are 1 or 0 in turn, as of a category: a row never has both, nor none."""
    rng = np.random.default_rng(1)
    first = (rng.random(200) < 0.9).astype(float)
    pool = np.stack([first, 1 - first, rng.normal(size=200)], axis=1)
    seen: list[Floats] = []

    def score(x: Floats) -> Floats:
        seen.append(x)
        return 3 * x[:, 1] + np.abs(x[:, 2])

    found = explainer(pool, score, np.array([0, 0, 1])).explain(np.array([[0.0, 1.0, 0.5]]))
    assert found.first(0, 1) == [0]
    assert found.contributions[0, 0] == pytest.approx(3)
    assert all((rows[:, :2].sum(axis=1) == 1).all() for rows in seen)


def test_of_many_columns_a_rough_score_picks_those_that_are_tried() -> None:
    rng, calls = np.random.default_rng(2), []
    pool = rng.normal(size=(100, 90))

    def score(x: Floats) -> Floats:
        calls.append(len(x))
        return np.asarray(np.abs(x).max(axis=1))

    made = explainer(pool, score)
    made = Explainer(
        score, made.score_changed, lambda x: np.abs(x).max(axis=1), made.ordinary, made.columns, score(pool)
    )
    calls.clear()
    x = np.zeros((2, 90))
    x[:, 77] = 9
    found = made.explain(x)
    assert found.first(0, 1) == [77]
    assert np.isnan(found.alone).sum(axis=1).tolist() == [90 - MOST_TRIED] * 2
    assert sum(calls) <= 2 * (3 + 2 * MOST_TRIED + 2 * MOST_STEPS - 1 + MOST_REASONS - 1)


def test_several_wrong_values_are_found_where_none_of_them_decides_alone() -> None:
    """A score that says only whether something is wrong: putting one of three values right changes nothing."""
    rng = np.random.default_rng(4)
    pool = rng.uniform(-1, 1, size=(200, 12))
    found = explainer(pool, lambda x: (np.abs(x) > 2).any(axis=1).astype(float)).explain(
        np.array([[0.1, 9, 0, 0, 9, 0, 0, 0, 0, 0, 0, 9]])
    )
    assert sorted(found.parts[part][0] for part in found.first(0)) in ([1, 4], [1, 11], [4, 11], [1, 4, 11])
    assert found.contributions.sum() == pytest.approx(1)
    assert found.remainder == pytest.approx(0)


def test_rows_are_explained_alike_alone_and_among_many(line: Explainer) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(130, 3)) * 3
    x[3, 1] = x[3, 0] = 7  # a pair, in the first block alone
    x[70:, 1] = 0
    together = line.explain(x)
    assert (0, 1) in together.parts
    for row in (3, 100):
        alone = line.explain(x[row : row + 1])
        places = [together.parts.index(part) for part in alone.parts]
        np.testing.assert_array_equal(together.contributions[row, places], alone.contributions[0])
        np.testing.assert_array_equal(together.lenders[row, places], alone.lenders[0])
        np.testing.assert_allclose(together.contributions[row].sum(), alone.contributions.sum())


def test_no_rows_are_explained_as_none(line: Explainer) -> None:
    found = line.explain(np.zeros((0, 3)))
    assert (len(found), found.contributions.shape) == (0, (0, 3))


def test_labelled_anomalies_lend_nothing() -> None:
    labels = np.array([UNLABELLED, 1, 0, UNLABELLED], np.int8)
    assert find_ordinary(np.array([0.0, 0.0, 0.0, 9.0]), labels).tolist() == [0, 2]
    assert find_ordinary(np.zeros(2), np.ones(2, np.int8)).tolist() == [0, 1]  # there are no others
