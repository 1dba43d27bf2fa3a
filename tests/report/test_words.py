from __future__ import annotations

from soel.report.facts import ReportFacts
from soel.report.words import headline


def test_the_headline_says_the_result_in_plain_words(facts: ReportFacts) -> None:
    assert headline(facts) == (
        "Roughly 9 % of 397 items look anomalous (80 % interval 5 to 15 %). 36 alarms at the threshold."
    )
