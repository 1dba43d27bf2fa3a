"""What every route is given: the desk, the visitor, and the errors it may answer with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from starlette.templating import Jinja2Templates

from soel.errors import SoelError
from soel.web.desk import Desk
from soel.web.door import Door, Visitor
from soel.web.findings import Results
from soel.web.guard import House
from soel.web.shapes import ErrorOut

Documented = dict[int | str, dict[str, Any]]
REFUSALS: Documented = {
    400: {"model": ErrorOut, "description": "A foreign host, or a request that is no HTTP"},
    401: {"model": ErrorOut, "description": "Not signed in"},
    403: {"model": ErrorOut, "description": "A foreign origin, or a matter for the owner"},
    404: {"model": ErrorOut, "description": "No such item"},
    409: {"model": ErrorOut, "description": "The session cannot do this now"},
    413: {"model": ErrorOut, "description": "Too large"},
    422: {"model": ErrorOut, "description": "Not what the description asks for"},
}


class OwnerOnlyError(SoelError):
    """Something that only the session's owner may do."""


@dataclass(frozen=True)
class Entrance:
    """What every app has, also before there is a session."""

    door: Door
    house: House
    templates: Jinja2Templates


@dataclass(frozen=True)
class Parts(Entrance):
    """What the app of a session is made of."""

    desk: Desk
    results: Results


def entrance(request: Request) -> Entrance:
    """The way into the app that answers this request."""
    return cast(Entrance, request.app.state.parts)


def parts(request: Request) -> Parts:
    """The parts of the app that answers this request."""
    return cast(Parts, request.app.state.parts)


def desk(request: Request) -> Desk:
    """The session's desk."""
    return parts(request).desk


def results(request: Request) -> Results:
    """The results of the last fit."""
    return parts(request).results


def visitor(request: Request) -> Visitor:
    """Who asks; the guard has checked it."""
    return cast(Visitor, request.state.visitor)


def owner(request: Request) -> Visitor:
    """Who asks, if it is the owner."""
    asker = visitor(request)
    if not asker.is_owner:
        raise OwnerOnlyError("Only the session's owner can do this; ask them.")
    return asker


TheEntrance = Annotated[Entrance, Depends(entrance)]
TheParts = Annotated[Parts, Depends(parts)]
TheDesk = Annotated[Desk, Depends(desk)]
TheResults = Annotated[Results, Depends(results)]
Asker = Annotated[Visitor, Depends(visitor)]
Owner = Annotated[Visitor, Depends(owner)]
