"""The smallest change that makes a row ordinary: goldens by hand, and laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from soel.explain import Explainer, RowExplanation
from soel.explain.counterfactual import MOST_GROUPS
from soel.types import Floats
from tests.explain.made_up import changed_score, explain, explainer, parts

RNG = np.random.default_rng(0)
CALM = RNG.uniform(-1, 1, size=(60, 4)).astype(np.float32)


def largest(x: Floats) -> Floats:
    """Any wild value is enough."""
    return np.asarray(np.abs(x).max(axis=1))


def total(x: Floats) -> Floats:
    return np.asarray(np.abs(x).sum(axis=1))


def one(made: Explainer, *row: float) -> RowExplanation:
    return explain(made, np.array([row])).rows[0]


def named(found: RowExplanation) -> set[int]:
    return {column for part in parts(found) for column in part}


def contributions(found: RowExplanation) -> float:
    return sum(reason.contribution for reason in found.reasons)


def test_a_wrong_value_alone_is_what_has_to_change() -> None:
    made = explainer(CALM, largest, 1.0)
    found = one(made, 0, 9, 0, 0)
    assert (parts(found), found.suffices, found.is_alarm, found.rank) == (((1,),), True, True, 1)
    assert found.score == 9
    assert changed_score(found) == pytest.approx(float(np.abs(CALM[found.donor, 1])))
    assert found.changed_rank > 1


def test_of_two_wrong_values_both_and_nothing_else() -> None:
    found = one(explainer(CALM, largest, 1.0), 0.2, 9, -0.3, 7)
    assert (named(found), found.suffices) == ({1, 3}, True)


def test_what_greed_took_first_is_left_out_where_it_is_not_needed() -> None:
    """Column 0 lowers the score most, but then 1 and 2 are needed as well, and these are enough."""

    def score(x: Floats) -> Floats:
        high = x > 5
        return np.asarray(
            2.0 * (high[:, 1] | high[:, 2]) + 2.5 * (high[:, 0] & (high[:, 1] | high[:, 2])) + 0.1 * x[:, 3]
        )

    found = one(explainer(CALM, score, 1.0), 9, 9, 9, 0)
    assert (named(found), found.suffices) == ({1, 2}, True)


def test_columns_that_go_together_are_changed_together() -> None:
    """The score is how far the second is from the first: neither is wrong alone, and the pair has to fit the donor."""
    pool = np.repeat(RNG.normal(size=(80, 1)), 2, axis=1) + 0.05 * RNG.normal(size=(80, 2))
    pool = np.hstack([pool, RNG.normal(size=(80, 1))])

    def score(x: Floats) -> Floats:
        return np.asarray(np.abs(x[:, 0]) + np.abs(x[:, 1]))

    made = explainer(pool, score, 3.0 + float(score(pool).max()))
    assert [set(group) for group in made.groups] == [{0, 1}, {2}]
    both = one(made, 9, 9, 0)
    assert [set(part) for part in parts(both)] == [{0, 1}]
    alone = one(made, 0, 12, 0)
    assert parts(alone) == ((1,),)  # a single column of the group does it


def test_a_row_in_which_everything_is_wrong_is_unusual_as_a_whole() -> None:
    calm = RNG.uniform(-1, 1, size=(60, 8))
    made = explainer(calm, largest, 1.0)
    found = one(made, *[9.0] * 8)
    assert (parts(found), found.suffices, found.remainder) == ((), False, found.score - found.baseline)
    assert found.donor in made.positions[made.ordinary]
    assert one(made, *[9.0] * MOST_GROUPS, 0, 0, 0).suffices


def test_what_lowers_the_score_but_not_the_rank_is_not_said() -> None:
    """Eight wild values: with five of them put right the row still stands first, or falls behind two others."""
    calm = np.vstack([RNG.uniform(-1, 1, size=(60, 8)), np.full((2, 8), 3.0)])
    assert one(explainer(calm, total, 20.0), *[30.0] * 8).reasons == ()
    lower = one(explainer(calm, total, 8.0), *[6.0] * 8)
    assert (lower.suffices, lower.rank, lower.changed_rank, len(parts(lower))) == (False, 1, 3, 5)


def test_a_row_near_the_threshold_is_explained_the_other_way_round() -> None:
    pool = np.vstack([CALM, [[0, 9, 0, 0], [8, 0, 0, 0]], [[0, 0.99, 0, 0]]])
    made = explainer(pool, largest, 1.0)
    found = one(made, 0, 0.99, 0, 0)
    assert (found.is_alarm, found.suffices, len(parts(found))) == (False, True, 1)
    assert found.donor in (60, 61)
    assert changed_score(found) > 1
    assert found.changed_rank < found.rank
    assert contributions(found) < 0


def test_ordinary_rows_far_from_the_threshold_have_nothing_to_explain() -> None:
    found = one(explainer(np.vstack([CALM, [[0, 9, 0, 0]]]), largest, 1.0), 0, 0.01, 0, 0)
    assert (found.donor, parts(found), found.remainder) == (-1, (), 0.0)


def test_labels_decide_who_is_a_donor() -> None:
    labels = np.full(60, -1, np.int8)
    labels[np.argsort(largest(CALM))[:10]] = 1
    made = explainer(CALM, largest, 1.0, labels=labels)
    assert not set(made.positions[made.ordinary]) & set(np.flatnonzero(labels == 1))
    alarms = np.vstack([CALM, [[0, 9, 0, 0], [8, 0, 0, 0]]])
    normal = np.append(np.full(61, -1), 0).astype(np.int8)
    assert explainer(alarms, largest, 1.0, labels=normal).suspicious.tolist() == [60]


def test_where_nothing_raises_an_alarm_the_highest_tenth_is_told_from_the_others() -> None:
    made = explainer(CALM, largest, np.inf)
    assert (made.pool_scores > made.line).sum() == 6
    assert one(made, 0, 9, 0, 0).suffices


def test_a_row_that_the_model_knows_keeps_its_own_score_and_loses_what_its_label_adds() -> None:
    """Its label adds 3: with nothing wrong left, nothing of that is left."""
    made = explainer(CALM, largest, 1.0, known=lambda x: 3.0 * (np.abs(x[:, 1] - 9) < 0.5))
    found = one(made, 0, 9, 0, 0)
    assert (found.score, found.suffices, named(found)) == (12.0, True, {1})
    assert changed_score(found) < 1
    assert found.baseline + contributions(found) + found.remainder == pytest.approx(12.0)


def test_of_many_columns_a_rough_score_picks_those_that_are_tried() -> None:
    calm = RNG.uniform(-1, 1, size=(300, 90))
    row = np.zeros(90)
    row[77] = 9
    assert one(explainer(calm, largest, 1.0), *row).reasons[0].columns == ("77",)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True), st.integers(0, 9), st.floats(0.5, 3))
def test_law_the_change_suffices_and_nothing_smaller_of_it_does(wrong: list[int], seed: int, power: float) -> None:
    def score(x: Floats) -> Floats:
        return np.asarray((np.abs(x) ** power).sum(axis=1))

    row = CALM[seed].copy()
    row[wrong] += 9
    made = explainer(CALM, score, float(score(CALM).max()))
    found = explain(made, row[None])[0]
    assert found.suffices
    assert score(_change(row, CALM[found.donor], named(found)))[0] <= made.line
    for some in itertools.combinations(parts(found), len(parts(found)) - 1):
        smaller = {column for part in some for column in part}
        assert score(_change(row, CALM[found.donor], smaller))[0] > made.line


def _change(row: Floats, donor: Floats, columns: set[int]) -> Floats:
    return np.where(np.isin(np.arange(len(row)), list(columns)), donor, row)[None]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99))
def test_law_contributions_sum_to_the_difference_of_the_scores(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(4, 4))

    def score(x: Floats) -> Floats:
        return np.asarray(np.abs(x @ weights).max(axis=1))

    made = explainer(CALM, score, float(np.quantile(score(CALM), 0.95)))
    for found in explain(made, np.vstack([CALM[:10], rng.normal(size=(10, 4)) * 4])):
        assert contributions(found) == pytest.approx(found.score - changed_score(found))
        assert found.score == pytest.approx(found.baseline + contributions(found) + found.remainder)
        assert not parts(found) or (found.changed_rank > found.rank) == found.is_alarm


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99))
def test_law_for_a_sum_over_columns_contributions_are_exact_and_neighbours_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = CALM[rng.integers(60, size=5)] + (rng.random((5, 4)) < 0.4) * 9
    made = explainer(CALM, total, float(total(CALM).max()))
    together = explain(made, rows)
    for row, found in zip(rows, together, strict=True):
        assert explain(made, row[None])[0] == found
        for part, reason in zip(parts(found), found.reasons, strict=True):
            own = sum(abs(row[column]) - abs(CALM[found.donor, column]) for column in part)
            assert reason.contribution == pytest.approx(own, abs=1e-4)
