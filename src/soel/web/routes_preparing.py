"""The pages before there is a session: all of them show how far it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import HTMLResponse

from soel.web.dependencies import BaseContextDep, OwnerDep, UserDep
from soel.web.preparation import Preparation
from soel.web.routes_pages import PAGES
from soel.web.schemas import PreparationOut

router = APIRouter()


def preparation(request: Request) -> Preparation:
    """The preparation that this app shows."""
    return cast(Preparation, request.app.state.preparation)


PreparationDep = Annotated[Preparation, Depends(preparation)]


def show_preparation(
    request: Request, context: BaseContextDep, preparation: PreparationDep, user: UserDep
) -> HTMLResponse:
    """What is going on, whichever page was asked for."""
    values = {"user": user, "here": request.url.path, "source": preparation.source, "preparing": True}
    return context.templates.TemplateResponse(request, "preparing.html", values)


for path in PAGES:
    router.add_api_route(path, show_preparation, response_class=HTMLResponse)


@router.get("/api/preparation")
def read_preparation(preparation: PreparationDep, _user: UserDep) -> PreparationOut:
    """How far it is."""
    return _out(preparation)


@router.post("/api/preparation")
def begin_again(preparation: PreparationDep, _owner: OwnerDep) -> PreparationOut:
    """Try again after a failure."""
    preparation.retry()
    return _out(preparation)


@router.api_route("/api/{rest:path}", methods=["GET", "POST", "PUT", "DELETE"])
def refuse(rest: str) -> None:
    """Everything else needs a session."""
    raise HTTPException(503, "The session is still being prepared; wait until it is there")


def _out(preparation: Preparation) -> PreparationOut:
    status = preparation.status()
    said = asdict(status.progress)
    running = said.pop("running")
    return PreparationOut(stage="preparing" if running else "failed", seconds_left=status.seconds_left, **said)
