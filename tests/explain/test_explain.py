"""Rows explained by scores whose parts are known by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soel.explain import Explainer, find_ordinary
from soel.explain.explain import MOST_STEPS, MOST_TRIED
from soel.explain.explanation import MOST_REASONS
from soel.types import UNLABELLED, Floats
from tests.explain.made_up import explainer


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


def test_golden_of_a_score_that_is_a_product() -> None:
    """The score a + a b at (2, 3) is 8. With a put right first it loses 8, b nothing; with b first 6, and a 2."""
    found = explainer(np.zeros((20, 2)), lambda x: x[:, 0] * (1 + x[:, 1])).explain(np.array([[2.0, 3.0]]))
    assert found.contributions.tolist() == [[5, 3]]
    assert found.alone.tolist() == [[0, 2]]
    assert found.remainder.tolist() == [0]


def test_golden_of_what_is_left_for_the_remainder() -> None:
    """Six parts are put right one after the other: 1 and 2 of eight columns are left."""
    found = explainer(np.zeros((20, 8)), lambda x: x.sum(axis=1)).explain(np.array([[3.0, 1, 8, 7, 2, 6, 5, 4]]))
    assert found.contributions.tolist() == [[3, 0, 8, 7, 0, 6, 5, 4]]
    assert found.remainder.tolist() == [3]


def test_golden_of_a_part_that_is_not_worth_a_step() -> None:
    """A fiftieth of what the first says is left for the remainder."""
    found = explainer(np.zeros((20, 3)), lambda x: x.sum(axis=1)).explain(np.array([[100.0, 2.0, 2.5]]))
    assert found.contributions.tolist() == [[100, 0, 2.5]]
    assert found.remainder.tolist() == [2]


def test_golden_of_a_row_below_the_ordinary_ones() -> None:
    found = explainer(np.full((20, 2), 5.0), lambda x: x.sum(axis=1)).explain(np.array([[1.0, 2.0]]))
    assert found.contributions.tolist() == [[-4, -3]]
    assert found.remainder.tolist() == [0]
    assert found.alone.tolist() == [[7, 6]]
    assert (found.first(0), found.ranks.tolist(), found.ranks_together.tolist()) == ([], [21], [[0, 0, 0]])


def test_a_trifle_is_no_reason() -> None:
    pool = np.tile(np.array([[1.0, 1.0, 1.0]]), (20, 1))
    found = explainer(pool, lambda x: x.sum(axis=1)).explain(np.array([[100.0, 5.0, 30.0]]))
    assert found.contributions[0].tolist() == [99, 4, 29]
    assert found.first(0) == [0, 2]  # 4 of 132 is less than a twentieth


def test_golden_of_one_column() -> None:
    """With one column all that raises a row is that column's, and nothing is left."""
    pool = np.array([[1.0]] * 9 + [[3.0]])
    found = explainer(pool, lambda x: np.square(x[:, 0])).explain(np.array([[4.0], [1.0]]))
    assert found.contributions.tolist() == [[15], [0]]
    assert found.ranks.tolist() == [1, 2]
    assert found.ranks_alone.tolist() == [[2], [2]]
    assert [found.first(row) for row in (0, 1)] == [[0], []]


def test_a_pool_of_one_row_explains_by_that_row() -> None:
    found = explainer(np.array([[1.0, 2.0]]), lambda x: x @ np.array([1.0, 10.0])).explain(np.array([[4.0, 2.0]]))
    assert (found.contributions.tolist(), found.baseline.tolist()) == ([[3, 0]], [21])
    assert (found.reference.tolist(), found.lenders.tolist()) == ([0], [[0, 0]])


def test_lenders_are_named_by_their_position_in_the_pool() -> None:
    """The first two rows score highest and lend nothing."""
    pool = np.array([[9.0], [8.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    found = explainer(pool, lambda x: x[:, 0]).explain(pool[:1])
    assert found.lenders[0, 0] >= 2
    assert found.reference[0] >= 2
    assert found.contributions.tolist() == [[8]]


def test_the_model_is_told_which_rows_a_changed_one_was_made_of() -> None:
    """Own values in the row of the baseline: made of both. The row's own with one lent: of itself alone."""
    made = explainer(np.tile([[1.0, 2.0]], (20, 1)), lambda x: x.sum(axis=1))
    calls: list[tuple[Floats, Floats]] = []

    def score_changed(x: Floats, sources: Floats) -> Floats:
        calls.append((x, sources))
        return np.asarray(x.sum(axis=1))

    def score_both(x: Floats, changed: Floats, sources: Floats) -> tuple[Floats, Floats]:
        assert x.tolist() == [own, usual]
        return x.sum(axis=1), score_changed(changed, sources)

    own, usual = [7, 9], [1, 2]
    replace(made, score_changed=score_changed, score_both=score_both).explain(np.array([[7.0, 9.0]]))
    (changed, sources), *later = calls
    assert changed.tolist() == [own, [7, 2], [1, 9], [1, 9], [7, 2]]  # b matters more: it is first
    assert sources.tolist() == [[own, own]] * 3 + [[own, usual]] * 2
    assert all(pair == [own, usual] for _, more in later for pair in more.tolist())


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
    made = replace(made, rough=lambda x: np.abs(x).max(axis=1))
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
