"""The app: routes, guard and assets put together for one session."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from soel.web import routes_door, routes_label, routes_pages, routes_preparing, routes_results, routes_team
from soel.web.context import Entrance, Parts
from soel.web.desk import Desk
from soel.web.door import Door
from soel.web.faults import add_handlers
from soel.web.findings import Results
from soel.web.guard import Guard, House
from soel.web.preparation import Preparation

ABOUT = "Label the items that teach the detector most, and look at what it has learned. Errors are JSON: {error}."


def create_app(desk: Desk, door: Door, house: House) -> FastAPI:
    """The page and its API for one session."""
    app = _new_app("/api/openapi.json")
    app.state.parts = Parts(door, house, _templates(), desk, Results(desk))
    return _furnish(app, door, house, (routes_door, routes_pages, routes_label, routes_results, routes_team))


def create_preparing_app(preparation: Preparation, door: Door, house: House) -> FastAPI:
    """The page for the time before the session is there, behind the same door."""
    app = _new_app(None)
    app.state.parts, app.state.preparation = Entrance(door, house, _templates()), preparation
    return _furnish(app, door, house, (routes_door, routes_preparing))


def _new_app(description: str | None) -> FastAPI:
    return FastAPI(
        title="soel",
        version=version("soel"),
        description=ABOUT,
        openapi_url=description,
        docs_url=None,  # the usual documentation pages load scripts from other servers
        redoc_url=None,
        redirect_slashes=False,
    )


def _templates() -> Jinja2Templates:
    return Jinja2Templates(_here() / "templates")


def _here() -> Path:
    return Path(str(files("soel.web")))


def _furnish(app: FastAPI, door: Door, house: House, rooms: Iterable[ModuleType]) -> FastAPI:
    for routes in rooms:
        app.include_router(routes.router)
    app.mount("/static", StaticFiles(directory=_here() / "static"), name="static")
    add_handlers(app)
    app.add_middleware(Guard, house=house, door=door)
    return app
