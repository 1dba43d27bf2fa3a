"""What a spot check proves, what it would prove, and what is not sure: in sentences for terminal, page and report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from soel.text import ENGLISH, Texts
from soel.types import ANOMALY, UNLABELLED, Booleans, Estimate, Labels

if TYPE_CHECKING:  # words need no scipy
    from soel.assess.quality import Bounds, Quality

NO_CHECK = (
    "How many of the alarms are real is not known: `soel ask DIR --spot-check 10` draws items at random, whose labels "
    "give intervals for the share of anomalies, precision and recall."
)
SIZES = (10, 20, 40)


def quality_words(quality: Quality, t: Texts = ENGLISH) -> list[str]:
    """One sentence for each figure; each interval holds with at least the chance that the first one says."""
    false = quality.false_alarms.round_outwards(1)
    words = [
        t("check.drawn", n=quality.n_checked, coverage=quality.coverage),
        t("check.share", **_shares(quality.share), n=quality.n_rows),
    ]
    if quality.precision is not None:
        words.append(
            t("check.alarms", **_counts(quality.real_alarms), n=quality.n_alarms, **_shares(quality.precision, "p_"))
        )
    return [
        *words,
        t("check.recall", **_shares(quality.recall)),
        t("check.false", **_counts(false)),
        *_say_promised(quality, t),
        t("check.about"),
    ]


def _say_promised(quality: Quality, t: Texts) -> list[str]:
    """What the probabilities said of the alarms and of the others, and whether the check bears it out."""
    sides = (
        ("alarms", quality.promised_alarms, quality.alarms_judgement, quality.real_alarms, quality.n_alarms),
        (
            "others",
            quality.promised_missed,
            quality.missed_judgement,
            quality.missed,
            quality.n_rows - quality.n_alarms,
        ),
    )
    return [
        t(
            f"check.promised_{side}",
            n=round(promised),
            **_counts(proven),
            judgement=t(f"check.{judgement.replace(' ', '_')}"),
        )
        for side, promised, judgement, proven, n in sides
        if n and promised is not None and judgement is not None and proven is not None
    ]


def foreseen_words(is_alarm: Booleans, labels: Labels, t: Texts = ENGLISH) -> list[str]:
    """How wide the ranges of a check can be, by the number of its items. is_alarm, labels: of the pool, both (N,)."""
    from soel.assess.quality import Stratum, widest_intervals

    def stratum(side: Booleans) -> Stratum:
        known = labels[side & (labels != UNLABELLED)]
        return Stratum(int(side.sum()), len(known), int((known == ANOMALY).sum()))

    n_open = int((labels == UNLABELLED).sum())
    widths = ((n, widest_intervals(n, stratum(is_alarm), stratum(~is_alarm))) for n in SIZES if n <= n_open)
    return [t("check.foreseen", n=n, share=_points(share), alarms=_points(alarms)) for n, (share, alarms) in widths]


def unsure_words(n: int, estimate: Estimate, t: Texts = ENGLISH) -> str:
    """How many items without a label are not sure, and what that means."""
    return t("unsure.count", n=n, low=estimate.low, high=estimate.high) if n else t("unsure.none")


def _shares(bounds: Bounds, prefix: str = "") -> dict[str, float]:
    shown = bounds.round_outwards(0.01)
    return {f"{prefix}low": shown.low, f"{prefix}high": shown.high}


def _counts(bounds: Bounds) -> dict[str, int]:
    return {"low": round(bounds.low), "high": round(bounds.high)}


def _points(width: float) -> int:
    """In points of a hundred; the ends of a range are rounded outwards, which may take one on either side."""
    return min(100, math.ceil(100 * width - 1e-9) + 1)
