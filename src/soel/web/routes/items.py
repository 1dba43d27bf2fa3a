"""The API behind the lists of items and of alarms: a page of a selection, one item of it, the selection as a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from soel.report.reasons import find_why
from soel.report.view import AlarmLine, Alarms, Chip
from soel.session.events import join_names
from soel.tables.rows import write_table
from soel.text import Texts
from soel.web.auth import User
from soel.web.cards import N_SHOWN, Look
from soel.web.dependencies import REFUSALS, ContextDep, Documented, OwnerDep, PageContext, TextsDep, UserDep
from soel.web.findings import TYPES, Form, as_download, write_to_bytes
from soel.web.item_list import ItemQuery
from soel.web.messages import ItemId
from soel.web.schemas import AlarmOut, ItemsOut, NamedOut

router = APIRouter(prefix="/api", tags=["items"], responses=REFUSALS)
FILES: Documented = {200: {"content": {media_type: {} for media_type in TYPES.values()}}}
N_CHIPS, N_LINES, MOST_COLUMNS = 3, 20, 5000
ItemIdIn = Annotated[ItemId, Query(description="The item's id")]
QueryDep = Annotated[ItemQuery, Depends()]


@router.get("/items")
def read_items(
    context: ContextDep,
    user: UserDep,
    texts: TextsDep,
    wanted: QueryDep,
    page: Annotated[int, Query(ge=1, le=10**9)] = 1,
    size: Annotated[int, Query(ge=1, le=100)] = N_LINES,
) -> ItemsOut:
    """One page of the items that fit."""
    return list_items(context, user, texts, wanted, page, size)


def list_items(
    context: PageContext, user: User, texts: Texts, wanted: ItemQuery, page: int = 1, size: int = N_LINES
) -> ItemsOut:
    """One page of the items that fit, as records and as lines of the page."""
    alarms = context.findings.alarms(user, texts, wanted.threshold)
    rows = context.view_model.listing.rows(wanted, alarms.state, alarms.outcome, alarms.pattern_of)
    found = ItemsOut.cut(rows.tolist(), page, size, lambda row: _line(context, alarms, row))
    found.version, found.columns = alarms.state.last_event, list(context.view_model.items.columns())[:MOST_COLUMNS]
    found.people = sorted({vote.who for answered in alarms.state.answers.values() for vote in answered.votes})
    found.html = context.parts.alarm_list(found.items, texts, wanted.sort == "unlabelled")
    return found


def _line(context: PageContext, alarms: Alarms, row: int) -> AlarmLine:
    """An item as a line; where nothing else is known of it, with the values that stand out."""
    alarm = alarms.of(row)
    if alarm.chips or alarm.kind != "table":
        return alarm
    card = context.view_model.card(alarm.item, alarms.state, Look(most=N_CHIPS), alarms.texts)
    chips = [Chip(f"{each.name} {each.value}", each.words) for each in card.fields if each.stands_out]
    return replace(alarm, chips=tuple(chips))


@router.get("/alarm")
def read_alarm(
    context: ContextDep,
    user: UserDep,
    texts: TextsDep,
    id: ItemIdIn,
    most: Annotated[int, Query(ge=1, le=5000)] = N_SHOWN,
) -> AlarmOut:
    """One item of the list beside the nearest ordinary one and the labelled one that it is most like."""
    view_model, alarms = context.view_model, context.findings.alarms(user, texts)
    row_of = view_model.listing.row_of
    alarm = alarms.of(row_of[view_model.check(id)])
    why = find_why(alarms.kept, id)
    present = [why.like] if why is not None and why.is_alarm and why.like in row_of else []
    ordinary = NamedOut(item=present[0], title=view_model.items.title(present[0])) if present else None
    near = alarm.resembles
    if near is not None and near.item not in row_of:
        near = None
    changed = tuple(name for each in why.reasons for name in each.columns) if present and why is not None else ()
    beside = (*present, *([near.item] if near is not None else []))
    shown = view_model.show(user, id, Look("", most, changed, beside), texts)
    return AlarmOut(**dict(shown), alarm=replace(alarm, resembles=near), ordinary=ordinary)


@router.get("/items.{form}", response_class=Response, responses=FILES)
def download_items(context: ContextDep, owner: OwnerDep, texts: TextsDep, wanted: QueryDep, form: Form) -> Response:
    """All items that fit, with their scores, labels and own columns; harmless to a spreadsheet."""
    alarms = context.findings.alarms(owner, texts, wanted.threshold)
    rows = context.view_model.listing.rows(wanted, alarms.state, alarms.outcome, alarms.pattern_of).tolist()
    columns = context.view_model.items.columns()
    head = ["id", "name", "rank", "score", "probability", "alarm", "label", "who", "because", *columns]
    body = ([*_facts(alarms, row), *(column[row] for column in columns.values())] for row in rows)
    return as_download(f"items.{form}", write_to_bytes(f".{form}", lambda path: write_table(path, head, body)))


def _facts(alarms: Alarms, row: int) -> list[Any]:
    known = alarms.of(row)
    answered = alarms.state.answers.get(known.item)
    who = "" if answered is None else "; ".join(vote.who for vote in answered.votes)
    scores: list[Any] = ["", "", "", ""]
    if known.rank is not None:
        scores = [known.rank, known.score, known.probability, known.is_alarm]
    return [known.item, known.title, *scores, known.verdict or "", who, join_names(known.because)]
