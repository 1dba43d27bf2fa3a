"""The pages before there is a session: all of them show how far it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import HTMLResponse

from soel.errors import SessionError
from soel.text import Texts
from soel.web.column_question import CHOICES
from soel.web.dependencies import BaseContextDep, OwnerDep, TextsDep, UserDep
from soel.web.error_words import error_words
from soel.web.messages import ColumnChoicesIn
from soel.web.preparation import Preparation
from soel.web.reading_view import describe_columns, describe_reading
from soel.web.routes_pages import PAGES
from soel.web.schemas_data import ColumnOut, PreparationOut, ReadingOut

router = APIRouter()


def preparation(request: Request) -> Preparation:
    """The preparation that this app shows."""
    return cast(Preparation, request.app.state.preparation)


PreparationDep = Annotated[Preparation, Depends(preparation)]


def show_preparation(
    request: Request, context: BaseContextDep, preparation: PreparationDep, user: UserDep, texts: TextsDep
) -> HTMLResponse:
    """What is going on, whichever page was asked for."""
    values: dict[str, Any] = {"user": user, "here": request.url.path, "source": preparation.source, "preparing": True}
    question = preparation.question
    values["table"] = preparation.reading is not None
    if question is not None and question.is_open and user.role == "owner":
        values |= {"question": question, "choices": CHOICES}
        values |= {"columns": question.describe(texts), "notes": question.notes(texts)}
    return context.templates.TemplateResponse(request, "preparing.html", values)


for path in PAGES:
    router.add_api_route(path, show_preparation, response_class=HTMLResponse)


@router.get("/api/preparation")
def read_preparation(preparation: PreparationDep, _user: UserDep, texts: TextsDep) -> PreparationOut:
    """How far it is."""
    return _out(preparation, texts)


@router.post("/api/preparation")
def begin_again(preparation: PreparationDep, _owner: OwnerDep, texts: TextsDep) -> PreparationOut:
    """Try again after a failure."""
    preparation.retry()
    return _out(preparation, texts)


@router.post("/api/preparation/columns")
def choose_columns(
    preparation: PreparationDep, answer: ColumnChoicesIn, _owner: OwnerDep, texts: TextsDep
) -> PreparationOut:
    """Say how columns are read, and begin."""
    if preparation.question is None or not preparation.is_asking:
        raise SessionError("How columns are read is settled already; wait until the session is there.")
    preparation.question.answer(answer.choices, answer.decimal, answer.dates, answer.drop_duplicates, answer.labels_by)
    preparation.begin()
    return _out(preparation, texts)


@router.get("/api/reading")
def read_reading(preparation: PreparationDep, user: UserDep, texts: TextsDep) -> ReadingOut:
    """How the table will be read, in a line; empty while the owner is asked, who has the list before them."""
    reading = None if preparation.is_asking else preparation.reading
    return describe_reading(reading, texts, may_unfold=user.is_owner and preparation.question is None)


@router.get("/api/columns")
def read_columns(preparation: PreparationDep, _user: UserDep, texts: TextsDep) -> list[ColumnOut]:
    """How each column will be read, what is not sure first; empty for pictures."""
    return [] if preparation.reading is None else describe_columns(preparation.reading, texts)


@router.api_route("/api/{rest:path}", methods=["GET", "POST", "PUT", "DELETE"])
def refuse(rest: str) -> None:
    """Everything else needs a session."""
    raise HTTPException(503, "The session is still being prepared; wait until it is there")


def _out(preparation: Preparation, texts: Texts) -> PreparationOut:
    status = preparation.status()
    progress = asdict(status.progress)
    running = progress.pop("running")
    progress["error"] = error_words(progress["error"], texts)
    stage: Literal["asking", "preparing", "failed"] = "preparing" if running else "failed"
    if preparation.is_asking:
        stage = "asking"
    return PreparationOut(stage=stage, seconds_left=status.seconds_left, **progress)
