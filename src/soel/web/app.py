"""The app: routes, guard and assets put together for one session."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from soel.web import routes_label, routes_pages, routes_results, routes_team
from soel.web.context import Parts
from soel.web.desk import Desk
from soel.web.door import Door
from soel.web.faults import add_handlers
from soel.web.findings import Results
from soel.web.guard import Guard, House

ABOUT = "Label the items that teach the detector most, and look at what it has learned. Errors are JSON: {error}."


def create_app(desk: Desk, door: Door, house: House) -> FastAPI:
    """The page and its API for one session."""
    here = Path(str(files("soel.web")))
    app = FastAPI(
        title="soel",
        version=version("soel"),
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual documentation pages load scripts from other servers
        redoc_url=None,
        redirect_slashes=False,
    )
    templates = Jinja2Templates(here / "templates")
    app.state.parts = Parts(desk, Results(desk), door, house, templates)
    for routes in (routes_pages, routes_label, routes_results, routes_team):
        app.include_router(routes.router)
    app.mount("/static", StaticFiles(directory=here / "static"), name="static")
    add_handlers(app)
    app.add_middleware(Guard, house=house, door=door)
    return app
