"""Threshold rules on scores that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from soel.assess.conformal import Reference
from soel.assess.threshold import (
    NEVER,
    RULES,
    EstimatedCount,
    FixedCount,
    ThresholdRule,
    parse_threshold,
    promise_document,
)
from soel.cli.main import build_parser
from soel.errors import ConfigError
from soel.text import LANGUAGES, texts_in
from soel.types import Floats

SCORES = np.array([4.0, 3.0, 2.0, 1.0])
SURE = np.zeros(4)


def alarms(rule: str, contamination: float = 0.25, probabilities: Floats = SURE) -> list[float]:
    cut = parse_threshold(rule).cut(SCORES, contamination, probabilities)
    return [float(score) for score in SCORES if score > cut]


@pytest.mark.parametrize(
    ("contamination", "cut"), [(0.0, 4.0), (0.5, 2.5), (1 / 3, 3.0), (1.0, 1.0), (1.7, 1.0), (-0.5, 4.0)]
)
def test_as_many_as_are_estimated(contamination: float, cut: float) -> None:
    assert EstimatedCount().cut(SCORES, contamination, SURE) == pytest.approx(cut)


@pytest.mark.parametrize(("share", "cut"), [(0, 4.0), (0.5, 2.5), (1, 1.0)])
def test_a_fixed_share_is_its_quantile(share: float, cut: float) -> None:
    assert parse_threshold(f"share={share}").cut(SCORES, 0.9, SURE) == pytest.approx(cut)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(0, []), (1, [4.0]), (2, [4.0, 3.0]), (3, [4.0, 3.0, 2.0]), (4, SCORES.tolist()), (9, [4, 3, 2, 1])],
)
def test_so_many_alarms(n: int, expected: list[float]) -> None:
    assert alarms(f"alarms={n}") == expected


def test_false_alarms_are_counted_in_the_reference() -> None:
    # Nine normal rows: a tenth allows none of them as high (1 / 10), two tenths one.
    reference = Reference.of(np.arange(9.0))
    assert parse_threshold("false-alarms=0.1").cut(SCORES, 0.5, SURE, reference) == 8.0
    assert parse_threshold("false-alarms=0.2").cut(SCORES, 0.5, SURE, reference) == 7.0
    assert parse_threshold("false-alarms=0.09").cut(SCORES, 0.5, SURE, reference) == NEVER  # nine rows cannot tell
    assert parse_threshold("false-alarms=1").cut(SCORES, 0.5, SURE, reference) < 0


def test_a_list_with_few_false_ones_by_the_probability() -> None:
    # False among the first 1, 2, 3, 4: 0, 0.1, 0.2 and 0.4 of them.
    probabilities = np.array([1.0, 0.8, 0.6, 0.0])
    assert alarms("fdr=0.05", probabilities=probabilities) == [4]
    assert alarms("fdr=0.1", probabilities=probabilities) == [4, 3]
    assert alarms("fdr=0.3", probabilities=probabilities) == [4, 3, 2]
    assert alarms("fdr=0.5", probabilities=probabilities) == [4, 3, 2, 1]
    assert alarms("fdr=0", probabilities=np.full(4, 0.5)) == []
    order = np.array([2, 0, 3, 1])
    assert parse_threshold("fdr=0.1").cut(SCORES[order], 0.5, probabilities[order]) == 2.5


def test_known_anomalies_do_not_make_room_for_false_alarms_on_the_list() -> None:
    scores, probabilities = np.array([6.0, 5, 4, 3, 2, 1]), np.array([1.0, 1, 0.95, 0.6, 0.2, 0])
    labels = np.array([1, 1, -1, -1, -1, 0], np.int8)
    rule = parse_threshold("fdr=0.1")
    assert rule.cut(scores, 0.5, probabilities) == 3.5  # of three, 0.05 / 3 are false; of four 0.45 / 4
    assert rule.cut(scores, 0.5, probabilities, labels=labels) == 3.5
    assert parse_threshold("fdr=0.15").cut(scores, 0.5, probabilities) == 2.5
    assert parse_threshold("fdr=0.15").cut(scores, 0.5, probabilities, labels=labels) == 3.5
    assert parse_threshold("fdr=0.01").cut(scores, 0.5, probabilities, labels=labels) >= 6.0  # not even the highest
    assert rule.cut(scores, 0.5, probabilities, labels=np.ones(6, np.int8)) >= 6.0


def test_where_nothing_is_listed_a_new_row_has_to_be_sure_by_itself() -> None:
    scores = np.array([0.0, 1.0, 2.0])
    chances = 1 / (1 + np.exp(-(scores - 3)))  # 0.27 at the highest
    cut = parse_threshold("fdr=0.1").cut(scores, 0.5, chances)
    assert cut == pytest.approx(3 + np.log(9))  # where the curve says 0.9
    assert parse_threshold("fdr=0").cut(scores, 0.5, chances) == NEVER
    assert parse_threshold("fdr=0.1").cut(scores, 0.5, np.full(3, 0.3)) == NEVER  # no score says more than another
    assert parse_threshold("fdr=0.1").cut(np.zeros(3), 0.5, np.full(3, 0.3)) == NEVER


def test_costs_are_weighed_by_the_probability() -> None:
    # A miss is worth three false alarms: an alarm pays from a probability of a quarter.
    probabilities = np.array([0.9, 0.3, 0.2, 0.0])
    assert alarms("cost=3:1", probabilities=probabilities) == [4, 3]
    assert alarms("cost=30:10", probabilities=probabilities) == [4, 3]
    assert alarms("cost=1:1", probabilities=probabilities) == [4]
    assert alarms("cost=1:99", probabilities=probabilities) == []


@pytest.mark.parametrize("text", ["cost=3", "cost=0:1", "cost=1:-1", "cost=a:b", "cost=inf:1", "cost=:"])
def test_costs_are_two_positive_numbers(text: str) -> None:
    with pytest.raises(ConfigError, match="two positive costs"):
        parse_threshold(text)


@pytest.mark.parametrize(
    "text",
    ["contamination", "share=0.02", "alarms=50", "false-alarms=0.01", "share=0", "share=1", "fdr=0.1", "cost=2.5:1"],
)
def test_rules_read_back_as_written(text: str) -> None:
    assert str(parse_threshold(text)) == text
    assert parse_threshold(f"  {text} ") == parse_threshold(text)


@pytest.mark.parametrize(
    "text", ["", "contamination=0.1", "share", "alarms", "false-alarms", "quota=3", "=3", "shares=1"]
)
def test_other_words_are_refused_with_the_choices(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a threshold rule") as caught:
        parse_threshold(text)
    assert all(kind in str(caught.value) for kind in RULES)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *((f"alarms={wrong}", "a whole number from 0") for wrong in ("1.5", "-1", "many", "inf", "1e400")),
        *((f"share={wrong}", "a share from 0 to 1") for wrong in ("1.01", "-0.1", "nan")),
        *((f"false-alarms={wrong}", "a share from 0 to 1") for wrong in ("2", "few")),
    ],
)
def test_numbers_out_of_range_are_refused_with_what_is_wanted(text: str, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        parse_threshold(text)


@pytest.mark.parametrize("rule", RULES.values())
def test_every_rule_has_an_example_a_help_and_a_promise(rule: type[ThresholdRule]) -> None:
    made = parse_threshold(rule.example)
    assert (type(made), str(made)) == (rule, rule.example)
    assert rule.help
    for language in LANGUAGES:
        said = texts_in(language).say(made.promise())
        assert rule.is_guarantee == ("uarant" in said and "ot guarant" not in said) or language != "en"


@pytest.mark.parametrize("rule", RULES.values())
def test_drift_withdraws_every_promise(rule: type[ThresholdRule]) -> None:
    document = promise_document(parse_threshold(rule.example), has_drifted=True)
    assert document["is_withdrawn"]
    assert [line.split(":")[0] for line in document["lines"]] == ["Withdrawn"]


@pytest.mark.parametrize(("rate", "needs"), [("0.01", "99 normal items"), ("0.3", "3 normal items"), ("0", "no pool")])
def test_a_pool_that_is_too_small_promises_nothing_and_says_so(rate: str, needs: str) -> None:
    document = promise_document(parse_threshold(f"false-alarms={rate}"), can_alarm=False)
    assert not document["is_guaranteed"]
    (line,) = document["lines"]
    assert line.startswith("No item can raise an alarm: ")
    assert needs in line


def test_a_new_rule_is_one_class_and_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class TopPercent(FixedCount):
        """A percentage of what is scored."""

        name, example, help = "top-percent", "top-percent=2", "a percentage of what is scored"

        def count(self, n_scored: int) -> int:
            return round(self.value / 100 * n_scored)

    monkeypatch.setitem(RULES, "top-percent", TopPercent)
    assert parse_threshold("top-percent=2").count(200) == 4
    with pytest.raises(ConfigError, match="top-percent=2: a percentage of what is scored"):
        parse_threshold("nothing=1")
    shown = build_parser().get_default("verbs")["score"].format_help()
    assert "top-percent=2" in shown.replace("\n", "")
