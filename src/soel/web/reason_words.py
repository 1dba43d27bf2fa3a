"""Why an item scores as it does, and what the alarms have in common, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soel.explain import RowExplanation
from soel.explain.words import localise, name_group
from soel.session import SessionState
from soel.text import Texts
from soel.web.schemas import FieldOut, NeighbourOut
from soel.web.view_model import ViewModel


def reason_fields(why: RowExplanation | None, t: Texts, with_rank: bool = False) -> list[FieldOut]:
    """The reasons of one item, each like a value of its row. with_rank: with the rank that it would have else.

    Who labels is not told how the item ranks, and so not what would make an ordinary one an alarm.
    """
    if why is None or not (why.is_alarm or with_rank):
        return []
    if why.like and not why.reasons:
        return [_field(t("reason.whole", like=why.like), "", "")] if why.is_alarm else []
    key = "reason.usual" if why.is_alarm else "reason.there"
    fields = [
        _field(
            name_group(reason.columns, t),
            localise(reason.values[0], t),
            t(key, usual=localise(reason.usual[0], t), like=why.like),
        )
        for reason in why.reasons
    ]
    if with_rank and fields:
        fields[-1].words += "; " + t("reason.rank", rank=why.changed_rank, now=why.rank)
    return fields


def _field(name: str, value: str, words: str) -> FieldOut:
    return FieldOut(name=name, value=value, words=words, stands_out=True, strip=None)


def find_resembled(
    view_model: ViewModel, seen: SessionState, kept: Mapping[str, Any], item: str
) -> NeighbourOut | None:
    """The labelled item that this one is most like, where the reader may know of it."""
    other = kept["resembles"].get(item)
    if other is None or other not in seen.labels:
        return None
    return NeighbourOut(item=other, title=view_model.items.title(other), verdict=str(seen.answers[other].verdict))
