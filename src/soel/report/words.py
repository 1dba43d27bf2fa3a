"""Numbers and sentences as a person reads them."""

from __future__ import annotations

from soel.report.facts import ReportFacts


def digits(share: float) -> str:
    """A share as percent without the sign: whole numbers, two figures below one percent."""
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 1 or percent < 0.005 else f"{percent:.2g}"


def percent(share: float) -> str:
    """A share with its sign: 9 %."""
    return f"{digits(share)} %"


def count(n: int, noun: str) -> str:
    """A number of things: 1 item, 2,000 items, 3 anomalies."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else many}"


def number(value: str | float) -> str:
    """A measured value in four figures; text stays as it is."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.4g}"


def headline(facts: ReportFacts) -> str:
    """The result in two sentences."""
    estimate = facts.contamination
    return (
        f"Roughly {percent(estimate.value)} of {count(facts.n_items, 'item')} look anomalous "
        f"(80 % interval {digits(estimate.low)} to {percent(estimate.high)}). "
        f"{count(facts.threshold.n_alarms, 'alarm')} at the threshold."
    )
