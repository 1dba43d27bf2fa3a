"""What results say in sentences: why an item scores high, what alarms and checks promise, what is not sure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from soel.assess.quality import Quality
from soel.assess.threshold import parse_threshold
from soel.explain import RowExplanation
from soel.explain.words import localise, name_group
from soel.session import SessionState
from soel.text import Texts
from soel.types import UNLABELLED
from soel.web.cards import Field
from soel.web.results import FitResults
from soel.web.schemas import NeighbourOut
from soel.web.view import ViewModel


def reason_fields(
    why: RowExplanation | None, t: Texts, with_rank: bool = False, title: Callable[[str], str] = str
) -> list[Field]:
    """The reasons of one item, each like a value of its row.

    with_rank: with the rank that it would have else. title: what people call an item.

    Who labels is not told how the item ranks, and so not what would make an ordinary one an alarm.
    """
    if why is None or not (why.is_alarm or with_rank):
        return []
    like = title(why.like) if why.like else ""
    if like and not why.reasons:
        return [_field(t("reason.whole", like=like), "", "")] if why.is_alarm else []
    key = "reason.usual" if why.is_alarm else "reason.there"
    fields = [
        _field(
            name_group(reason.columns, t),
            localise(reason.values[0], t),
            t(key, usual=localise(reason.usual[0], t), like=like),
        )
        for reason in why.reasons
    ]
    if with_rank and fields:
        rank = t("reason.rank", rank=why.changed_rank, now=why.rank)
        fields[-1] = replace(fields[-1], words=f"{fields[-1].words}; {rank}")
    return fields


def _field(name: str, value: str, words: str) -> Field:
    return Field(name=name, value=value, words=words, stands_out=True, strip=None)


def find_resembled(
    view_model: ViewModel, seen: SessionState, kept: Mapping[str, Any], item: str
) -> NeighbourOut | None:
    """The labelled item that this one is most like, where the reader may know of it."""
    other = kept["resembles"].get(item)
    if other is None or other not in seen.labels:
        return None
    return NeighbourOut(item=other, title=view_model.items.title(other), verdict=str(seen.answers[other].verdict))


SIZES = (10, 20, 40)
PROMISED = {
    "right": "check.promised_right",
    "too high": "check.promised_too_high",
    "too low": "check.promised_too_low",
}


def promise_words(threshold: str, t: Texts, can_alarm: bool = True) -> list[str]:
    """What the rule that set the threshold promises. can_alarm: whether any score raises an alarm by it."""
    return [t.say(parse_threshold(threshold).promise(can_alarm))]


def quality_words(quality: Quality | None, t: Texts) -> list[str]:
    """What the newest spot check proves, one sentence a figure; why to make one where there is none."""
    if quality is None:
        return [t("check.none")]
    share, recall = quality.share.round_outwards(0.01), quality.recall.round_outwards(0.01)
    real, false = quality.real_alarms, quality.false_alarms.round_outwards(1)
    return [
        t("check.drawn", n=quality.n_checked),
        t("check.share", low=t.percent(share.low), high=t.percent(share.high)),
        t("check.alarms", low=int(real.low), high=int(real.high), n=quality.n_alarms),
        *_describe_promise(quality, t),
        t("check.recall", low=t.percent(recall.low), high=t.percent(recall.high)),
        t("check.false", low=int(false.low), high=int(false.high)),
        t("check.about"),
    ]


def _describe_promise(quality: Quality, t: Texts) -> list[str]:
    """What the probabilities said of the alarms, and whether the check bears it out; nothing without alarms."""
    judgement = quality.alarms_judgement if quality.n_alarms else None
    if judgement is None or quality.promised_alarms is None:
        return []
    return [t(PROMISED[judgement], n=round(quality.promised_alarms))]


def check_advice_words(findings: FitResults, t: Texts) -> list[str]:
    """How wide the ranges of a check can be, by the number of its items."""
    n_open = int((findings.labels == UNLABELLED).sum())
    return [
        t("check.foreseen", n=n, share=_points(share), alarms=_points(alarms))
        for n, (share, alarms) in ((n, findings.foresee(n)) for n in SIZES if n <= n_open)
    ]


def unsure_words(findings: FitResults, t: Texts) -> list[str]:
    """How many items are not sure, and what that means."""
    n_alarms, n_others = findings.count_unsure()
    if not n_alarms + n_others:
        return [t("unsure.none")]
    low, high = t.percent(findings.estimate.low), t.percent(findings.estimate.high)
    return [t("unsure.count", n=n_alarms + n_others, alarms=n_alarms), t("unsure.means", low=low, high=high)]


def _points(width: float) -> int:
    """In points of a hundred; the ends of a range are rounded outwards, which may take one on either side."""
    return min(100, math.ceil(100 * width - 1e-9) + 1)
