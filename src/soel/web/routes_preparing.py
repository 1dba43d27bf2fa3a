"""The pages before there is a session: all of them show how far it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import HTMLResponse

from soel.web.context import Asker, Owner, TheEntrance
from soel.web.preparation import Preparation
from soel.web.routes_pages import PAGES
from soel.web.shapes import PreparationOut

router = APIRouter()


def preparation(request: Request) -> Preparation:
    """The preparation that this app shows."""
    return cast(Preparation, request.app.state.preparation)


ThePreparation = Annotated[Preparation, Depends(preparation)]


def show_preparation(
    request: Request, entrance: TheEntrance, preparation: ThePreparation, visitor: Asker
) -> HTMLResponse:
    """What is going on, whichever page was asked for."""
    context = {"visitor": visitor, "here": request.url.path, "source": preparation.source, "preparing": True}
    return entrance.templates.TemplateResponse(request, "preparing.html", context)


for path in PAGES:
    router.add_api_route(path, show_preparation, response_class=HTMLResponse)


@router.get("/api/preparation")
def read_preparation(preparation: ThePreparation, _visitor: Asker) -> PreparationOut:
    """How far it is."""
    return _out(preparation)


@router.post("/api/preparation")
def begin_again(preparation: ThePreparation, _owner: Owner) -> PreparationOut:
    """Try again after a failure."""
    preparation.again()
    return _out(preparation)


@router.api_route("/api/{rest:path}", methods=["GET", "POST", "PUT", "DELETE"])
def refuse(rest: str) -> None:
    """Everything else needs a session."""
    raise HTTPException(503, "The session is still being prepared; wait until it is there")


def _out(preparation: Preparation) -> PreparationOut:
    glance = preparation.look()
    said = asdict(glance.progress)
    running = said.pop("running")
    return PreparationOut(stage="preparing" if running else "failed", seconds_left=glance.seconds_left, **said)
