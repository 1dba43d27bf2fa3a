"""What a spot check proves, in sentences for a terminal and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soel.report.words import count, digits, percent

if TYPE_CHECKING:  # words need no scipy
    from soel.quality import Bounds, Quality

ABOUT = (
    "It is about the model that stood when the items were drawn, before it learnt from them; items set aside count "
    "as if they were like the others."
)


def quality_lines(quality: Quality) -> list[str]:
    """One sentence for each figure; each interval holds with at least the chance that the first one says."""
    n = count(quality.n_checked, "item")
    lines = [
        f"Spot check of {n} drawn by chance; each range holds in at least {percent(quality.coverage)} of such checks.",
        f"Anomalies: {_range(quality.share)} of {count(quality.n_rows, 'item')}.",
    ]
    if quality.precision is not None:
        real = quality.real_alarms
        lines.append(
            f"Alarms: {real.low:.0f} to {real.high:.0f} of {quality.n_alarms:,} are real "
            f"(precision {_range(quality.precision)})."
        )
    shown = quality.false_alarms.rounded(1)
    false_alarms = f"{shown.low:.0f} to {shown.high:.0f}"
    lines.append(f"The alarms hold {_range(quality.recall)} of all anomalies (recall).")
    lines.append(f"False alarms: {false_alarms} in 1,000 items.")
    return [*lines, ABOUT]


def _range(bounds: Bounds) -> str:
    shown = bounds.rounded(0.01)
    return f"{digits(shown.low)} to {percent(shown.high)}"
