"""The result in two sentences."""

from __future__ import annotations

from soel.report.facts import ReportFacts
from soel.text import count, percent, percent_range


def headline(facts: ReportFacts) -> str:
    """The result in two sentences."""
    estimate = facts.contamination
    return (
        f"Roughly {percent(estimate.value)} of {count(facts.n_items, 'item')} look anomalous "
        f"(80 % interval {percent_range(estimate.low, estimate.high)}). "
        f"{count(facts.threshold.n_alarms, 'alarm')} at the threshold."
    )
