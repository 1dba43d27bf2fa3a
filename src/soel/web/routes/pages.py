"""The pages themselves, of a session and before there is one; what changes on them is fetched from the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, HTTPException, Request
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import HTMLResponse

from soel.errors import SessionError
from soel.session.alarms import kept_inputs
from soel.session.labelling import version_of
from soel.tables.schema import notes_of
from soel.text import Texts
from soel.web.dependencies import BaseContextDep, ContextDep, OwnerDep, TextsDep, UserDep
from soel.web.item_list import ItemQuery
from soel.web.messages import CHOICES, ColumnChoicesIn
from soel.web.prepare import Preparation, PreparationOut
from soel.web.reading import ColumnOut, ReadingOut, describe_columns, describe_reading
from soel.web.routes.items import list_items
from soel.web.sentences import error_words, reading_words

# Raw HTML is shown as text, and an address that could run code stays text. Pictures would let a guideline
# call other servers.
_READER = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False}).disable("image")
_WITHOUT_LINKS = MarkdownIt("js-default", {"html": False}).disable(["image", "link"])
MOST_BRACKETS = 500  # each may begin a link, and all that follows it is then looked through


def render(text: str) -> Markup:
    """The guideline as HTML; with very many brackets its links stay text, because reading them would take long."""
    reader = _READER if text.count("[") <= MOST_BRACKETS else _WITHOUT_LINKS
    return Markup(reader.render(text))


router = APIRouter(include_in_schema=False)
PAGES = {
    "/": "label.html",
    "/items": "items.html",
    "/review": "review.html",
    "/results": "results.html",
    "/team": "team.html",
    "/data": "data.html",
    "/watched": "watched.html",
}


def show_page(request: Request, page: ContextDep, user: UserDep, texts: TextsDep) -> HTMLResponse:
    """One of the pages; what changes on it is fetched from the API."""
    session, path = page.view_model.session, request.url.path
    context: dict[str, Any] = {"user": user, "here": path, "source": session.title, "session": session.config.session}
    context["is_watched"] = bool(kept_inputs(session.folder, session.state))
    if path in ("/", "/data", "/items"):
        context |= {"pictures": session.folder.has_pictures, "goal": session.config.goal}
    if path == "/":
        text = session.guidelines
        context |= {"guideline_text": text, "guideline_version": version_of(text)}
        context |= {"guideline": render(text or texts("label.no_guideline"))}
    if path == "/results":
        context["shown"] = None
        if page.findings.latest() is not None:
            wanted = ItemQuery(alarms=True, sort="unlabelled")
            context |= {"shown": page.findings.view(user, texts), "found": list_items(page, user, texts, wanted)}
    return page.templates.TemplateResponse(request, PAGES[path], context)


for path in PAGES:
    router.add_api_route(path, show_page, response_class=HTMLResponse)


preparing = APIRouter()  # in place of all others while the session is made


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
        values |= {"question": question, "choices": CHOICES, "columns": describe_columns(question.reading, texts)}
        values["notes"] = [reading_words(note, texts) for note in notes_of(question.reading)]
    return context.templates.TemplateResponse(request, "preparing.html", values)


for path in PAGES:
    preparing.add_api_route(path, show_preparation, response_class=HTMLResponse)


@preparing.get("/api/preparation")
def read_preparation(preparation: PreparationDep, _user: UserDep, texts: TextsDep) -> PreparationOut:
    """How far it is."""
    return _out(preparation, texts)


@preparing.post("/api/preparation")
def begin_again(preparation: PreparationDep, _owner: OwnerDep, texts: TextsDep) -> PreparationOut:
    """Try again after a failure."""
    preparation.retry()
    return _out(preparation, texts)


@preparing.post("/api/preparation/columns")
def choose_columns(
    preparation: PreparationDep, answer: ColumnChoicesIn, _owner: OwnerDep, texts: TextsDep
) -> PreparationOut:
    """Say how columns are read, and begin."""
    if preparation.question is None or not preparation.is_asking:
        raise SessionError("How columns are read is settled already; wait until the session is there.")
    preparation.question.answer(answer)
    preparation.begin()
    return _out(preparation, texts)


@preparing.get("/api/reading")
def read_reading(preparation: PreparationDep, user: UserDep, texts: TextsDep) -> ReadingOut:
    """How the table will be read, in a line; empty while the owner is asked, who has the list before them."""
    reading = None if preparation.is_asking else preparation.reading
    return describe_reading(reading, texts, may_unfold=user.is_owner and preparation.question is None)


@preparing.get("/api/columns")
def read_columns(preparation: PreparationDep, _user: UserDep, texts: TextsDep) -> list[ColumnOut]:
    """How each column will be read, what is not sure first; empty for pictures."""
    return [] if preparation.reading is None else describe_columns(preparation.reading, texts)


@preparing.api_route("/api/{rest:path}", methods=["GET", "POST", "PUT", "DELETE"])
def refuse(rest: str) -> None:
    """Everything else needs a session."""
    raise HTTPException(503, "The session is still being prepared; wait until it is there")


def _out(preparation: Preparation, texts: Texts) -> PreparationOut:
    now, seconds_left = preparation.status()
    progress = asdict(now) | {"error": error_words(now.error, texts)}
    running = progress.pop("running")
    stage: Literal["asking", "preparing", "failed"] = "preparing" if running else "failed"
    if preparation.is_asking:
        stage = "asking"
    return PreparationOut(stage=stage, seconds_left=seconds_left, **progress)
