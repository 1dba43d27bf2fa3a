"""What explained rows have in common, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from soel.explain import Explanation, Reason, RowExplanation
from soel.report.reasons import MOST_CONDITIONS, find_in_common, find_patterns, find_rule


def explained(*groups: tuple[int, ...]) -> Explanation:
    """Rows, the highest score first, that these groups of columns explain, the first of them most."""
    rows = []
    for at, own in enumerate(groups):
        reasons = tuple(Reason((str(group),), (9,), (1,), 1.0, group, 1) for group in own)
        rows.append(RowExplanation(99.0 - at, at, True, "x", 0, 0.0, reasons, 0.0, 50, bool(own)))
    return Explanation(tuple(rows), ("0", "1", "2"), (("0",), ("1",), ("2",)))


def condition(column: str, sign: str, value: str) -> dict[str, str]:
    return {"column": column, "sign": sign, "value": value}


def shown(rule: dict[str, Any]) -> tuple[set[str], int, int]:
    words = {" ".join(each.values()) for each in rule["conditions"]}
    return words, rule["n_met"], rule["n_hits"]


def test_alarms_with_the_same_groups_are_a_pattern_in_whatever_order() -> None:
    found = find_patterns(explained((0,), (1, 2), (0,), (2, 1), (0,), ()))
    assert found == [([0], [0, 2, 4]), ([1, 2], [1, 3])]


def test_an_alarm_of_its_own_goes_by_what_contributes_most() -> None:
    assert find_patterns(explained((0,), (0, 1), (0,), (2, 1))) == [([0], [0, 1, 2])]


def test_groups_are_counted_once_a_row_and_only_where_they_suffice() -> None:
    found = find_in_common(explained((0, 1), (1,), ()), np.arange(3), "abc", {})
    assert (found["groups"], found["n_explained"], found["n_whole"]) == ([[("1",), 2], [("0",), 1]], 3, 1)
    assert find_patterns(explained((), ())) == []


def test_a_rule_is_named_where_it_holds_for_most_of_a_pattern() -> None:
    """Two of three alarms lie above 5: that tells them; of two alarms one alone would not."""
    rows, ids = np.arange(3), [str(at) for at in range(40)]
    heat = np.where(np.isin(np.arange(40), [0, 1]), 9.0, np.arange(40) / 40)
    told = find_in_common(explained((0,), (0,), (0,)), rows, ids, {"0": heat})["patterns"]
    assert [(each["groups"], each["items"]) for each in told] == [([("0",)], ["0", "1", "2"])]
    assert told[0]["rule"] == {"conditions": [condition("0", "≥", "9")], "n_met": 2, "n_hits": 2}
    half = find_in_common(explained((0,), (0,)), np.array([0, 30]), ids, {"0": np.where(heat > 8, heat, 0)})
    assert half["patterns"][0]["rule"] is None


def test_a_rule_is_found_with_its_precision_and_recall() -> None:
    """Wanted are the hot ones in Rome, but for one: the rule cannot know it."""
    heat = np.array([1.0, 2, 3, 4, 9, 9, 9, 9, np.nan])
    city = np.array(["Ulm", "Rom", "Ulm", "Rom", "Ulm", "Rom", "Rom", "Rom", "Rom"], object)
    wanted = np.array([False] * 5 + [True, True, False, False])
    rule = find_rule({"heat": heat, "city": city}, wanted)
    assert rule is not None
    assert shown(rule) == ({"heat ≥ 9", "city = Rom"}, 3, 2)


def test_there_is_no_rule_of_nothing() -> None:
    assert find_rule({"a": np.arange(3.0)}, np.zeros(3, bool)) is None
    assert find_rule({}, np.ones(3, bool)) is None


def test_a_rule_has_three_conditions_at_most() -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=300) for name in "abcde"}
    wanted = np.all([column > -0.3 for column in columns.values()], axis=0)
    rule = find_rule(columns, wanted)
    assert rule is not None
    assert len(rule["conditions"]) == 3


def test_golden_of_a_rule_between_two_values() -> None:
    """Ten and more are too many, ten and less as well: only both conditions leave what is wanted."""
    values = np.arange(21.0)
    rule = find_rule({"a": values}, values == 10)
    assert rule is not None
    assert shown(rule) == ({"a ≥ 10", "a ≤ 10"}, 1, 1)


def test_precision_counts_more_than_recall() -> None:
    """Two of the four wanted and nobody else, 2.5 / 3; or all four and four others, 5 / 9."""
    wanted = np.arange(20) < 4
    sure = np.array(["x"] * 2 + ["y"] * 18, object)
    wide = np.array(["v"] * 8 + ["w"] * 12, object)
    sure[2:4] = None
    rule = find_rule({"wide": wide, "sure": sure}, wanted)
    assert rule == {"conditions": [condition("sure", "=", "x")], "n_met": 2, "n_hits": 2}


def test_a_condition_that_betters_a_rule_by_a_hair_is_left_out() -> None:
    """One row too many among 101 is no reason for a second condition."""
    wanted = np.arange(300) < 100
    kind = np.array(["x"] * 101 + ["y"] * 199, object)
    colour = np.array(["red"] * 100 + ["blue"] + ["red"] * 199, object)
    assert find_rule({"kind": kind, "colour": colour}, wanted) == {
        "conditions": [condition("kind", "=", "x")],
        "n_met": 101,
        "n_hits": 100,
    }


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
    assert rule == {"conditions": [condition("word", "=", "a")], "n_met": 7, "n_hits": 7}


CELLS = st.tuples(st.sampled_from([0.0, 1.0, 2.0, 3.0, float("nan")]), st.sampled_from(["x", "y", None]), st.booleans())


@settings(max_examples=80, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=25))
def test_law_a_rule_says_what_the_rows_give(cells: list[tuple[float, str | None, bool]]) -> None:
    """Counted cell by cell; a missing one meets nothing, and whoever meets it is more often wanted than anybody."""
    numbers, words, wanted = (list(each) for each in zip(*cells, strict=True))
    rule = find_rule({"n": np.array(numbers), "w": np.array(words, object)}, np.array(wanted))
    if rule is None:
        return

    def meets(cell: dict[str, float | str | None], column: str, sign: str, value_: str) -> bool:
        value = cell[column]
        if sign == "=":
            return bool(value == value_)
        assert isinstance(value, float)
        return value >= float(value_) if sign == "≥" else value <= float(value_)

    rows = [{"n": number, "w": word} for number, word, _ in cells]
    met = [all(meets(row, *condition.values()) for condition in rule["conditions"]) for row in rows]
    hits = [is_met and is_wanted for is_met, is_wanted in zip(met, wanted, strict=True)]
    assert (rule["n_met"], rule["n_hits"]) == (sum(met), sum(hits))
    assert rule["n_hits"] / rule["n_met"] > sum(wanted) / len(wanted)
    assert len(shown(rule)[0]) == len(rule["conditions"]) <= MOST_CONDITIONS
