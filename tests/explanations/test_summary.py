"""What explained rows have in common, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from soel.explanations import Explanation
from soel.explanations.summary import Condition, find_drivers, find_rule, group_alike


def explained(contributions: list[list[float]]) -> Explanation:
    """Rows with these contributions of the parts a, b and a with b; the first row scores highest."""
    given = np.array(contributions)
    n, nothing = len(given), np.zeros(given.shape)
    scores = np.arange(n, 0, -1.0)
    ranks, positions = np.arange(n), nothing.astype(int)
    parts = ((0,), (1,), (0, 1))
    return Explanation(
        ("a", "b"), parts, scores, scores, given, np.zeros(n), nothing, ranks, positions, positions, positions, ranks
    )


def test_drivers_by_hand() -> None:
    found = find_drivers(explained([[3, 1, 0], [1, 0, 0], [0, -5, 4]]))
    assert [(each.columns, each.n_first) for each in found] == [(("a",), 2), (("a", "b"), 1), (("b",), 0)]
    assert [each.share for each in found] == pytest.approx([(0.75 + 1) / 3, 1 / 3, 0.25 / 3])


def test_alike_rows_are_one_group_called_by_its_columns() -> None:
    rows = [[5.0, 0, 0], [0.0, 2, 0], [3.0, 0.2, 0], [0.0, 0, 6], [0.0, 0, 0], [0.0, 0, 1]]
    groups = group_alike(explained(rows))  # the second row is like no other, the fifth has nothing to be called by
    assert [(group.columns, group.rows) for group in groups] == [(("a",), (0, 2)), (("a", "b"), (3, 5))]


def test_groups_that_are_called_alike_are_one() -> None:
    """Twice a and b, once more a and once more b: less alike than it takes, and yet the same columns."""
    groups = group_alike(explained([[9, 4, 0], [9, 4, 0], [4, 9, 0]]))
    assert [(group.columns, group.rows) for group in groups] == [(("a", "b"), (0, 1, 2))]


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
