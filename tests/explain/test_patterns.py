"""What explained rows have in common, by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from soel.explain import Explanation, Reason, RowExplanation
from soel.explain.patterns import MOST_CONDITIONS, Condition, Pattern, Rule, count_groups, find_patterns, find_rule


def explained(*groups: tuple[int, ...]) -> Explanation:
    """Rows, the highest score first, that these groups of columns explain, the first of them most."""
    rows = []
    for at, own in enumerate(groups):
        reasons = tuple(Reason((str(group),), (9,), (1,), 1.0, group, 1) for group in own)
        rows.append(RowExplanation(99.0 - at, at, True, "x", 0, 0.0, reasons, 0.0, 50, bool(own)))
    return Explanation(tuple(rows), ("0", "1", "2"), (("0",), ("1",), ("2",)))


def test_alarms_with_the_same_groups_are_a_pattern_in_whatever_order() -> None:
    found = find_patterns(explained((0,), (1, 2), (0,), (2, 1), (0,), ()))
    assert found == (Pattern((0,), (0, 2, 4)), Pattern((1, 2), (1, 3)))


def test_an_alarm_of_its_own_goes_by_what_contributes_most() -> None:
    assert find_patterns(explained((0,), (0, 1), (0,), (2, 1))) == (Pattern((0,), (0, 1, 2)),)


def test_groups_are_counted_once_a_row_and_only_where_they_suffice() -> None:
    assert count_groups(explained((0, 1), (1,), ())) == [(1, 2), (0, 1)]
    assert find_patterns(explained((), ())) == ()


def test_a_rule_is_found_with_its_precision_and_recall() -> None:
    """Wanted are the hot ones in Rome, but for one: the rule cannot know it."""
    heat = np.array([1.0, 2, 3, 4, 9, 9, 9, 9, np.nan])
    city = np.array(["Ulm", "Rom", "Ulm", "Rom", "Ulm", "Rom", "Rom", "Rom", "Rom"], object)
    wanted = np.array([False] * 5 + [True, True, False, False])
    rule = find_rule({"heat": heat, "city": city}, wanted)
    assert rule is not None
    assert set(rule.conditions) == {Condition("heat", "≥", 9.0), Condition("city", "=", "Rom")}
    assert (rule.n_met, rule.n_hits, rule.n_wanted) == (3, 2, 2)


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
    assert rule.n_hits / rule.n_met > sum(wanted) / len(wanted)
    assert len(set(rule.conditions)) == len(rule.conditions) <= MOST_CONDITIONS
