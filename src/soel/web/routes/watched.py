"""The inbox of alarms: kept rows that wait for an answer, and one of them with its own columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query

from soel.errors import UnknownItemError
from soel.report.view import AlarmLine, Chip
from soel.session import SessionState
from soel.session.alarms import find_kept, open_rows
from soel.text import Texts
from soel.web.cards import Field
from soel.web.dependencies import REFUSALS, ContextDep, TextsDep, UserDep, ViewModelDep
from soel.web.routes.items import N_LINES, ItemIdIn
from soel.web.schemas import AlarmOut, ItemsOut, NoteOut

router = APIRouter(prefix="/api/watched", tags=["items"], responses=REFUSALS)
ASKED = {"check": "watched.check", "outside": "watched.outside"}  # why a row is asked about that need be no alarm
COLUMNS = ("alarm_id", "name", "input", "row", "score", "probability", "p_value", "alarm", "group", "why")


@router.get("/items")
def read_watched(
    context: ContextDep,
    user: UserDep,
    texts: TextsDep,
    page: Annotated[int, Query(ge=1, le=10**9)] = 1,
    size: Annotated[int, Query(ge=1, le=100)] = N_LINES,
) -> ItemsOut:
    """One page of the rows that wait for an answer: those that prove figures first, then the newest alarms."""
    session, state = context.view_model.session, context.view_model.session.state
    rows = open_rows(session.folder, state, COLUMNS)
    found = ItemsOut.cut(rows, page, size, lambda row: _line(row, None, texts))
    found.version, found.html = state.last_event, context.parts.alarm_list(found.items, texts, page="/watched")
    return found


@router.get("/alarm")
def read_watched_alarm(view_model: ViewModelDep, user: UserDep, texts: TextsDep, id: ItemIdIn) -> AlarmOut:
    """One of these rows, answered or not, with its own columns; those that its reason is about come first."""
    session, state = view_model.session, view_model.view_for(user)
    row = find_kept(session.folder, state, [id], [*COLUMNS, "cells"]).get(id)
    if row is None:
        raise UnknownItemError(f"No alarm {id[:80]!r} is kept here. Check the id.")
    cells: Mapping[str, str | None] = json.loads(row["cells"])
    names = sorted(cells, key=lambda name: name != row["group"])
    vote, written = state.vote_of(id, user.name), {note.who: note.text for note in state.notes_of(id)}
    return AlarmOut(
        version=state.last_event,
        item=id,
        kind="table",
        title=row["name"],
        fields=[Field(name, cells[name] or "", "", False, changed=name == row["group"]) for name in names],
        n_standing_out=0,
        n_fields=len(names),
        neighbours=[],
        frames=[],
        has_map=False,
        verdict=None if vote is None else vote.verdict,
        note=written.pop(user.name, ""),
        notes=[NoteOut(who=who, text=text) for who, text in written.items()],
        marks=[],
        alarm=_line(row, _said(state, id), texts),
        ordinary=None,
    )


def _line(row: Mapping[str, Any], verdict: str | None, texts: Texts) -> AlarmLine:
    """A kept row as a line of the list."""
    asked = [Chip(texts(ASKED[row["question"]]))] if row.get("question") in ASKED else []
    about = [Chip(row["group"], row["why"])] if row["group"] else []
    return AlarmLine(
        row["alarm_id"],
        row["name"],
        score=row["score"],
        probability=row["probability"],
        p_value=row["p_value"],
        is_alarm=row["alarm"],
        verdict=verdict,
        chips=(*asked, *about, Chip(texts("watched.from", input=row["input"], row=str(row["row"])))),
        why=row["why"],
    )


def _said(state: SessionState, item: str) -> str | None:
    return str(state.answers[item].verdict) if item in state.answers else None
