"""The API that says why: of one item, and of all alarms. It reads what was kept, so nobody waits for a model."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from soel.explain.words import name_group, say_common, say_pattern
from soel.report.reasons import find_why, read_reasons
from soel.web.dependencies import REFUSALS, TextsDep, UserDep, ViewModelDep
from soel.web.messages import ItemId
from soel.web.reason_words import find_resembled, reason_fields
from soel.web.schemas import FieldOut
from soel.web.schemas_results import ReasonsOut, SummaryOut

router = APIRouter(prefix="/api", tags=["reasons"], responses=REFUSALS)
Id = Annotated[ItemId, Query(description="The item's id")]


@router.get("/reasons")
def read_item_reasons(view_model: ViewModelDep, user: UserDep, texts: TextsDep, id: Id) -> ReasonsOut:
    """Which values raise an item's score, and the labelled item that it is most like, as far as the user may know."""
    kept = read_reasons(view_model.session)
    fields = reason_fields(find_why(kept, view_model.check(id)), texts)
    return ReasonsOut(fields=fields, resembles=find_resembled(view_model, view_model.view_for(user), kept, id))


@router.get("/summary")
def read_summary(view_model: ViewModelDep, user: UserDep, texts: TextsDep) -> SummaryOut:
    """What the alarms have in common: columns whose usual values make them ordinary, and patterns of alike ones."""
    summary = read_reasons(view_model.session)["patterns"]
    if summary is None or not summary["n_alarms"]:
        return SummaryOut(words=[], drivers=[], groups=[])
    drivers = [
        FieldOut(
            name=name_group(columns, texts),
            value="",
            words=texts("reason.driver", n=n),
            stands_out=False,
            strip=None,
        )
        for columns, n in summary["groups"][:5]
    ]
    labels = view_model.view_for(user).labels
    patterns = [say_pattern(pattern, labels, texts) for pattern in summary["patterns"]]
    return SummaryOut(words=say_common(summary, texts), drivers=drivers, groups=patterns)
