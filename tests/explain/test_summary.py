"""What explained rows have in common, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.explain import Explanation
from soel.explain.summary import MOST_CONDITIONS, Condition, Rule, find_drivers, find_rule, group_alike

AND = ((0,), (1,), (0, 1))


def explained(
    contributions: list[list[float]], names: str = "ab", parts: tuple[tuple[int, ...], ...] = AND, left: float = 0.0
) -> Explanation:
    """Rows with these contributions of the parts a, b and a with b, and so much left; the first scores highest."""
    given = np.array(contributions)
    n, nothing = len(given), np.zeros(given.shape)
    scores = np.arange(n, 0, -1.0)
    ranks, positions = np.arange(n), nothing.astype(int)
    return Explanation(
        tuple(names),
        parts,
        scores,
        scores,
        given,
        np.full(n, left),
        nothing,
        ranks,
        positions,
        positions,
        positions,
        ranks,
    )


def of_columns(contributions: list[list[float]]) -> Explanation:
    """The same with a part for each column and no groups."""
    n_columns = len(contributions[0])
    return explained(contributions, "abcdefgh"[:n_columns], tuple((at,) for at in range(n_columns)))


def test_drivers_by_hand() -> None:
    found = find_drivers(explained([[3, 1, 0], [1, 0, 0], [0, -5, 4]]))
    assert [(each.columns, each.n_first) for each in found] == [(("a",), 2), (("a", "b"), 1), (("b",), 0)]
    assert [each.share for each in found] == pytest.approx([(0.75 + 1) / 3, 1 / 3, 0.25 / 3])


def test_what_is_left_is_part_of_what_raises_a_row() -> None:
    (driver,) = find_drivers(explained([[3, -2, 0]], left=9.0))
    assert (driver.columns, driver.share) == (("a",), 0.25)
    (driver,) = find_drivers(explained([[3, -2, 0]], left=-9.0))
    assert driver.share == 1


def test_a_row_that_nothing_raises_has_no_column_that_comes_first() -> None:
    (driver,) = find_drivers(explained([[2, 0, 0], [0, 0, 0], [-1, -2, 0]]))
    assert (driver.columns, driver.n_first) == (("a",), 1)
    assert driver.share == pytest.approx(1 / 3)
    assert find_drivers(explained([[0, 0, 0]])) == ()


def test_of_many_drivers_the_largest_are_named() -> None:
    found = find_drivers(of_columns([[1, 4, 2, 3]]), most=2)
    assert [driver.columns for driver in found] == [("b",), ("d",)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-2, 5)] * 4), min_size=1, max_size=12), st.permutations(range(4)))
def test_law_drivers_of_permuted_columns_are_the_same(rows: list[tuple[int, ...]], order: list[int]) -> None:
    """All that raises the rows is shared out, and no row has two that come first."""
    found = find_drivers(of_columns([list(row) for row in rows]))
    raised = sum(max(row) > 0 for row in rows)
    assert sum(driver.share for driver in found) == pytest.approx(raised / len(rows))
    assert sum(driver.n_first for driver in found) == raised
    permuted = find_drivers(of_columns([[row[at] for at in order] for row in rows]))
    shares = {"abcd"[order["abcd".index(driver.columns[0])]]: driver.share for driver in permuted}
    assert shares == pytest.approx({driver.columns[0]: driver.share for driver in found})


def test_alike_rows_are_one_group_called_by_its_columns() -> None:
    rows = [[5.0, 0, 0], [0.0, 2, 0], [3.0, 0.2, 0], [0.0, 0, 6], [0.0, 0, 0], [0.0, 0, 1]]
    groups = group_alike(explained(rows))  # the second row is like no other, the fifth has nothing to be called by
    assert [(group.columns, group.rows) for group in groups] == [(("a",), (0, 2)), (("a", "b"), (3, 5))]


def test_groups_that_are_called_alike_are_one() -> None:
    """Twice a and b, once more a and once more b: less alike than it takes, and yet the same columns."""
    groups = group_alike(explained([[9, 4, 0], [9, 4, 0], [4, 9, 0]]))
    assert [(group.columns, group.rows) for group in groups] == [(("a", "b"), (0, 1, 2))]


def test_rows_are_alike_from_a_cosine_of_four_fifths_on() -> None:
    """(4, 3) has a cosine of 0.8 to (1, 0), (3.9, 3) of less."""
    assert [group.rows for group in group_alike(explained([[1, 0, 0], [4, 3, 0]]))] == [(0, 1)]
    assert group_alike(explained([[1, 0, 0], [3.9, 3, 0]])) == ()


def test_a_row_joins_the_leader_that_it_is_most_like() -> None:
    """(1, 0) and (0.5, 1) lead; (0.9, 0.9) has a cosine of 0.71 to the first and of 0.95 to the second."""
    groups = group_alike(of_columns([[1, 0], [0.5, 1], [0.9, 0.9], [1, 0.1], [1, 0.2]]))
    assert [(group.columns, group.rows) for group in groups] == [(("a",), (0, 3, 4)), (("b", "a"), (1, 2))]


def test_what_lowers_a_score_says_nothing_about_its_kind() -> None:
    (group,) = group_alike(explained([[1, -50, 0], [2, 0, 0]]))
    assert (group.columns, group.rows) == (("a",), (0, 1))


@pytest.mark.parametrize(
    ("profile", "called"),
    [([7, 3, 0, 0], "a"), ([2, 3, 5, 0], "cb"), ([1, 1, 1, 0.5], "abc"), ([1, 1, 1, 1, 1], "abc")],
)
def test_a_group_is_called_by_the_columns_that_make_up_seven_tenths(profile: list[float], called: str) -> None:
    """Three at most: of five equal ones it would take four."""
    (group,) = group_alike(of_columns([profile, profile]))
    assert group.columns == tuple(called)


def test_the_largest_groups_are_first_and_so_many_as_asked() -> None:
    rows = [[1.0, 0, 0]] * 2 + [[0, 1.0, 0]] * 4 + [[0, 0, 1.0]] * 3
    assert [group.columns for group in group_alike(of_columns(rows))] == [("b",), ("c",), ("a",)]
    assert [group.rows for group in group_alike(of_columns(rows), most=1)] == [(2, 3, 4, 5)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-2, 5)] * 3), min_size=1, max_size=15))
def test_law_groups_are_disjoint_and_nobody_with_company_is_left_out(rows: list[tuple[int, ...]]) -> None:
    groups = group_alike(of_columns([list(row) for row in rows]))
    grouped = [row for group in groups for row in group.rows]
    assert len(grouped) == len(set(grouped))
    assert all(len(group.rows) >= 2 and group.columns for group in groups)
    raising = np.maximum(rows, 0)
    assert all(raising[row].any() for row in grouped)
    for row in set(range(len(rows))) - set(grouped):  # the same profile again would have been company
        twins = [other for other in range(len(rows)) if other != row and (raising[other] == raising[row]).all()]
        assert not twins or not raising[row].any()


def test_a_rule_is_found_with_its_precision_and_recall() -> None:
    """Wanted are the hot ones in Rome, but for one: the rule cannot know it."""
    heat = np.array([1.0, 2, 3, 4, 9, 9, 9, 9, np.nan])
    city = np.array(["Ulm", "Rom", "Ulm", "Rom", "Ulm", "Rom", "Rom", "Rom", "Rom"], object)
    wanted = np.array([False] * 5 + [True, True, False, False])
    rule = find_rule({"heat": heat, "city": city}, wanted)
    assert rule is not None
    assert set(rule.conditions) == {Condition("heat", "≥", 9.0), Condition("city", "=", "Rom")}
    assert (rule.n_met, rule.n_hits, rule.n_wanted) == (3, 2, 2)
    assert [rule.precision, rule.recall] == pytest.approx([2 / 3, 1])


def test_there_is_no_rule_of_nothing() -> None:
    assert find_rule({"a": np.arange(3.0)}, np.zeros(3, bool)) is None
    assert find_rule({}, np.ones(3, bool)) is None


def test_a_rule_has_three_conditions_at_most() -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=300) for name in "abcde"}
    wanted = np.all([column > -0.3 for column in columns.values()], axis=0)
    rule = find_rule(columns, wanted)
    assert rule is not None
    assert len(rule.conditions) == 3


def test_golden_of_a_rule_between_two_values() -> None:
    """Ten and more are too many, ten and less as well: only both conditions leave what is wanted."""
    values = np.arange(21.0)
    rule = find_rule({"a": values}, values == 10)
    assert rule is not None
    assert set(rule.conditions) == {Condition("a", "≥", 10.0), Condition("a", "≤", 10.0)}
    assert (rule.n_met, rule.n_hits, rule.n_wanted) == (1, 1, 1)


def test_precision_counts_more_than_recall() -> None:
    """Two of the four wanted and nobody else, 2.5 / 3; or all four and four others, 5 / 9."""
    wanted = np.arange(20) < 4
    sure = np.array(["x"] * 2 + ["y"] * 18, object)
    wide = np.array(["v"] * 8 + ["w"] * 12, object)
    sure[2:4] = None
    rule = find_rule({"wide": wide, "sure": sure}, wanted)
    assert rule == Rule((Condition("sure", "=", "x"),), 2, 2, 4)
    assert (rule.precision, rule.recall) == (1, 0.5)


def test_a_condition_that_betters_a_rule_by_a_hair_is_left_out() -> None:
    """One row too many among 101 is no reason for a second condition."""
    wanted = np.arange(300) < 100
    kind = np.array(["x"] * 101 + ["y"] * 199, object)
    colour = np.array(["red"] * 100 + ["blue"] + ["red"] * 199, object)
    assert find_rule({"kind": kind, "colour": colour}, wanted) == Rule((Condition("kind", "=", "x"),), 101, 100, 100)


def test_a_condition_that_everybody_meets_is_no_rule() -> None:
    """A constant column tells nobody from anybody, nor does a word that all have; nor is there a rule for all rows."""
    wanted = np.arange(10) < 2
    assert find_rule({"a": np.ones(10), "b": np.array(["x"] * 10, object)}, wanted) is None
    assert find_rule({"a": np.arange(10.0)}, np.ones(10, bool)) is None


def test_wanted_rows_without_a_value_give_no_condition() -> None:
    wanted = np.arange(6) < 2
    empty = {"a": np.where(wanted, np.nan, 1.0), "b": np.where(wanted, None, "x")}  # type: ignore[call-overload]
    assert find_rule(empty, wanted) is None


def test_only_the_most_frequent_words_are_tried() -> None:
    """Five words: those that most wanted rows have."""
    words = np.array([word for word in "abcdefg" for _ in range(1 + "gfedcba".index(word))] + ["z"] * 40, object)
    rule = find_rule({"word": words}, words != "z")
    assert rule == Rule((Condition("word", "=", "a"),), 7, 7, 28)


CELLS = st.tuples(st.sampled_from([0.0, 1.0, 2.0, 3.0, float("nan")]), st.sampled_from(["x", "y", None]), st.booleans())


@settings(max_examples=80, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=25))
def test_law_a_rule_says_what_the_rows_give(cells: list[tuple[float, str | None, bool]]) -> None:
    """Counted cell by cell; a missing one meets nothing, and whoever meets it is more often wanted than anybody."""
    numbers, words, wanted = (list(each) for each in zip(*cells, strict=True))
    rule = find_rule({"n": np.array(numbers), "w": np.array(words, object)}, np.array(wanted))
    if rule is None:
        return

    def meets(cell: dict[str, float | str | None], condition: Condition) -> bool:
        value = cell[condition.column]
        if condition.sign == "=":
            return bool(value == condition.value)
        assert isinstance(value, float)
        return bool(value >= condition.value if condition.sign == "≥" else value <= condition.value)

    rows = [{"n": number, "w": word} for number, word, _ in cells]
    met = [all(meets(row, condition) for condition in rule.conditions) for row in rows]
    hits = [is_met and is_wanted for is_met, is_wanted in zip(met, wanted, strict=True)]
    assert (rule.n_met, rule.n_hits, rule.n_wanted) == (sum(met), sum(hits), sum(wanted))
    assert rule.precision > sum(wanted) / len(wanted)
    assert len(set(rule.conditions)) == len(rule.conditions) <= MOST_CONDITIONS
