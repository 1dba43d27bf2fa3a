"""What is promised of alarms: in words, under which assumption, and when it is withdrawn."""

from __future__ import annotations

import pytest

from soel.assess.metrics.threshold import KINDS, parse_threshold
from soel.assess.quality.figures import FitFigures
from soel.report.promises import promise_of
from soel.report.quality_words import rough_lines

RULES = ("contamination", "share=0.02", "alarms=50", "false-alarms=0.01", "fdr=0.1", "cost=10:1")


def test_every_rule_says_what_it_promises() -> None:
    assert {parse_threshold(rule).kind for rule in RULES} == set(KINDS)
    for rule in RULES:
        promise = promise_of(parse_threshold(rule))
        (line,) = promise.lines()
        assert line.startswith(promise.says)
        assert promise.is_guaranteed == ("Guaranteed if" in line) == rule.startswith("false-alarms")


def test_the_words() -> None:
    (line,) = promise_of(parse_threshold("false-alarms=0.01")).lines()
    assert line == (
        "At most 1 % of new normal items raise an alarm on average. Guaranteed if new normal items are like those of "
        "the pool, anomalies score above normal items, and the odds that suspected items are anomalies are at least a "
        "fifth of what they seem."
    )


@pytest.mark.parametrize("rule", RULES)
def test_drift_withdraws_every_promise(rule: str) -> None:
    document = promise_of(parse_threshold(rule), has_drifted=True).document()
    assert document["is_withdrawn"]
    assert [line.split(":")[0] for line in document["lines"]] == ["Withdrawn"]


def test_without_a_check_no_number_of_real_alarms_is_said() -> None:
    (line,) = rough_lines(FitFigures(n_alarms=100, n_unsure=3))
    assert line.startswith("Not sure: 3 items")
    assert "real" not in line


@pytest.mark.parametrize(("rate", "needs"), [("0.01", "99 normal items"), ("0.3", "3 normal items"), ("0", "no pool")])
def test_a_pool_that_is_too_small_promises_nothing_and_says_so(rate: str, needs: str) -> None:
    promise = promise_of(parse_threshold(f"false-alarms={rate}"), can_alarm=False)
    assert not promise.is_guaranteed
    (line,) = promise.lines()
    assert line.startswith("No item can raise an alarm: this pool is too small to promise ")
    assert needs in line


def test_no_more_alarms_are_counted_than_there_are_rows() -> None:
    rule = parse_threshold("alarms=20")
    assert promise_of(rule, n_scored=1).lines() == ["1 item with the highest scores, right or wrong."]
    assert promise_of(rule, n_scored=500).lines() == ["20 items with the highest scores, right or wrong."]


def test_a_list_that_is_empty_promises_what_it_did() -> None:
    rule = parse_threshold("fdr=0.1")
    assert promise_of(rule, can_alarm=False) == promise_of(rule)
