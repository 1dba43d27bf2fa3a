"""Why an item scores as it does, and what the alarms have in common, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from soel.session import SessionState
from soel.text import Texts
from soel.web.schemas import FieldOut, NeighbourOut
from soel.web.view_model import ViewModel

_FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def reason_fields(reasons: Sequence[Mapping[str, Any]], t: Texts, with_rank: bool = False) -> list[FieldOut]:
    """The reasons of one item, each like a value of its row. with_rank: with the rank that it would have else."""
    return [
        FieldOut(
            name=" + ".join(reason["columns"]),
            value=" + ".join(_localise(value, t) for value in reason["values"]),
            words="; ".join(_say(reason, t, with_rank, is_last=0 < place == len(reasons) - 1)),
            stands_out=True,
            strip=None,
        )
        for place, reason in enumerate(reasons)
    ]


def _say(reason: Mapping[str, Any], t: Texts, with_rank: bool, is_last: bool) -> list[str]:
    usual = " + ".join(_localise(value, t) for value in reason["usual"])
    words = [t("reason.usual", usual=usual, share=t.percent(reason["share"]))]
    if not with_rank:
        return words
    words.append(t("reason.rank", rank=int(reason["rank"]), now=int(reason["present_rank"])))
    together = reason.get("rank_together") if is_last else None
    return words if together is None else [*words, t("reason.together", rank=int(together))]


def summary_words(summary: Mapping[str, Any], t: Texts) -> list[str]:
    """How many alarms were looked at, and the rule that most of them meet."""
    words = [t("reason.looked", n=summary["n_explained"], total=summary["n_alarms"])]
    rule = summary["rule"]
    if rule is None:
        return [*words, t("reason.no_rule")]
    conditions = "; ".join(
        f"{each['column']} {each['sign']} {_localise(str(each['value']), t)}" for each in rule["conditions"]
    )
    met = t("reason.rule", rule=conditions, hits=rule["n_hits"], n=rule["n_met"])
    return [*words, met, t("reason.covers", hits=rule["n_hits"], n=rule["n_wanted"])]


def find_resembled(
    view_model: ViewModel, seen: SessionState, kept: Mapping[str, Any], item: str
) -> NeighbourOut | None:
    """The labelled item that this one is most like, where the reader may know of it."""
    other = kept["resembles"].get(item)
    if other is None or other not in seen.labels:
        return None
    return NeighbourOut(item=other, title=view_model.items.title(other), verdict=str(seen.answers[other].verdict))


def _localise(value: str, t: Texts) -> str:
    """A number with a fraction as the language writes it; anything else may be a code, and stays as it is."""
    return t.number(float(value)) if _FRACTION.fullmatch(value) else value
