"""The API that says why: of one item, and of all alarms. It reads what was kept, so nobody waits for a model."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from soel.report.kept_reasons import read_reasons
from soel.web.dependencies import REFUSALS, TextsDep, UserDep, ViewModelDep
from soel.web.messages import ItemId
from soel.web.reason_words import find_resembled, reason_fields, summary_words
from soel.web.schemas import FieldOut
from soel.web.schemas_results import ReasonsOut, SummaryOut

router = APIRouter(prefix="/api", tags=["reasons"], responses=REFUSALS)
Id = Annotated[ItemId, Query(description="The item's id")]


@router.get("/reasons")
def read_item_reasons(view_model: ViewModelDep, user: UserDep, texts: TextsDep, id: Id) -> ReasonsOut:
    """Which values raise an item's score, and the labelled item that it is most like, as far as the user may know."""
    kept = read_reasons(view_model.session)
    fields = reason_fields(kept["items"].get(view_model.check(id), []), texts)
    return ReasonsOut(fields=fields, resembles=find_resembled(view_model, view_model.view_for(user), kept, id))


@router.get("/summary")
def read_summary(view_model: ViewModelDep, _user: UserDep, texts: TextsDep) -> SummaryOut:
    """What the alarms have in common: columns that drive them, a rule, groups of alike ones."""
    summary = read_reasons(view_model.session)["summary"]
    if summary is None or not summary["n_alarms"]:
        return SummaryOut(words=[], drivers=[], groups=[])
    drivers = [
        FieldOut(
            name=" + ".join(driver["columns"]),
            value=texts.percent(driver["share"]),
            words=texts("reason.first", n=driver["n_first"]) if driver["n_first"] else texts("reason.driver"),
            stands_out=False,
            strip=None,
        )
        for driver in summary["drivers"][:5]
    ]
    groups = [texts("reason.group", names=" + ".join(g["columns"]), n=len(g["items"])) for g in summary["groups"]]
    return SummaryOut(words=summary_words(summary, texts), drivers=drivers, groups=groups)
