"""What a spot check proves, in sentences for a terminal and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soel.text import count, percent, percent_range

if TYPE_CHECKING:  # words need no scipy
    from soel.assess.conformal import FitFigures
    from soel.assess.quality import Bounds, Quality

NO_CHECK = (
    "How many of the alarms are real is not known: `soel ask DIR --spot-check 10` draws items at random, whose labels "
    "give intervals for the share of anomalies, precision and recall."
)
ABOUT = (
    "It is about the model that stood when the items were drawn, before it learnt from them; items set aside count "
    "as if they were like the others."
)

JUDGEMENTS = {
    "right": "as they say, as far as it can tell",
    "too high": "they are too high",
    "too low": "they are too low",
}


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
    shown = quality.false_alarms.round_outwards(1)
    false_alarms = f"{shown.low:.0f} to {shown.high:.0f}"
    lines.append(f"The alarms hold {_range(quality.recall)} of all anomalies (recall).")
    lines.append(f"False alarms: {false_alarms} in 1,000 items.")
    return [*lines, *_calibration(quality), ABOUT]


def _calibration(quality: Quality) -> list[str]:
    """What the probabilities promised, beside what the check proves."""
    sides = (
        (quality.promised_alarms, quality.alarms_judgement, "alarms", "real", quality.real_alarms),
        (quality.promised_missed, quality.missed_judgement, "others", "anomalies", quality.missed),
    )
    return [
        f"Probabilities: of the {side} they promise {promised:.0f} to be {what}, "
        f"the check proves {proven.low:.0f} to {proven.high:.0f}: "
        f"{JUDGEMENTS[judgement]}."
        for promised, judgement, side, what, proven in sides
        if promised is not None and judgement is not None and proven is not None
    ]


def rough_lines(figures: FitFigures) -> list[str]:
    """What is said without a check: how many items are not sure. How many alarms are real, only a check says."""
    return [
        f"Not sure: {count(figures.n_unsure, 'item')} without a label, normal if the share of anomalies is at the "
        "lower end of its range and anomalies if it is at the upper end."
    ]


def _range(bounds: Bounds) -> str:
    shown = bounds.round_outwards(0.01)
    return f"{percent_range(shown.low, shown.high)}"
