from __future__ import annotations

import pytest

from soel.report.facts import ReportFacts
from soel.report.words import count, headline, number, percent


def test_the_headline_says_the_result_in_plain_words(facts: ReportFacts) -> None:
    assert headline(facts) == (
        "Roughly 9 % of 397 items look anomalous (80 % interval 5 to 15 %). 36 alarms at the threshold."
    )


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.00123, "0.12 %"), (0.0099, "0.99 %"), (0.0905, "9 %"), (1.0, "100 %")],
)
def test_small_shares_keep_two_figures(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("n", "noun", "text"), [(1, "alarm", "1 alarm"), (0, "query", "0 queries"), (2000, "item", "2,000 items")]
)
def test_counts_agree_with_their_noun(n: int, noun: str, text: str) -> None:
    assert count(n, noun) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("red", "red"), (12.0, "12"), (1234567.0, "1,234,567"), (0.123456, "0.1235"), (float("inf"), "inf")],
)
def test_values_are_shown_in_four_figures(value: str | float, text: str) -> None:
    assert number(value) == text
