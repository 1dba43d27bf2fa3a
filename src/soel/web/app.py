"""The app: routes, middleware and assets put together for one session."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader
from markupsafe import Markup
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from soel.text import LANGUAGES
from soel.web.auth import Auth
from soel.web.dependencies import BaseContext, PageContext
from soel.web.faults import add_handlers
from soel.web.findings import Findings, Insight
from soel.web.prepare import Preparation
from soel.web.routes import data, items, label, pages, results, sign_in, team, watched
from soel.web.security import SecurityMiddleware, Site
from soel.web.sentences import texts_for
from soel.web.view_model import ViewModel

ABOUT = "Label the items that teach the detector most, and look at what it has learned. Errors are JSON: {error}."

ROUTES = tuple(module.router for module in (sign_in, pages, label, items, results, team, data, watched))


def create_app(view_model: ViewModel, auth: Auth, site: Site) -> FastAPI:
    """The page and its API for one session."""
    app = _new_app("/api/openapi.json")
    app.state.context = PageContext(
        auth,
        site,
        _templates(),
        view_model,
        Findings(view_model),
        Insight(view_model.session),
    )
    return _assemble(app, auth, site, ROUTES)


def create_preparing_app(preparation: Preparation, auth: Auth, site: Site) -> FastAPI:
    """The page for the time before the session is there, behind the same sign-in."""
    app = _new_app(None)
    app.state.context, app.state.preparation = BaseContext(auth, site, _templates()), preparation
    return _assemble(app, auth, site, (sign_in.router, pages.preparing))


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
    """The page's own, and those that it shares with the report."""
    loaders = [FileSystemLoader(_here() / "templates"), PackageLoader("soel.report", "assets")]
    templates = Jinja2Templates(
        env=Environment(loader=ChoiceLoader(loaders), autoescape=True), context_processors=[_texts]
    )
    templates.env.globals["span"] = lambda name, text: Markup('<span class="{}">{}</span>').format(name, text)
    return templates


def _texts(request: Request) -> dict[str, Any]:
    texts = texts_for(request)
    return {"t": texts.markup, "texts": texts, "language": texts.language, "languages": LANGUAGES}


def _here() -> Path:
    return Path(str(files("soel.web")))


def _assemble(app: FastAPI, auth: Auth, site: Site, routers: Iterable[APIRouter]) -> FastAPI:
    for router in routers:
        app.include_router(router)
    app.mount("/static/shared", StaticFiles(packages=[("soel.report", "assets")]), name="shared")
    app.mount("/static", StaticFiles(directory=_here() / "static"), name="static")
    add_handlers(app)
    app.add_middleware(SecurityMiddleware, site=site, auth=auth, templates=app.state.context.templates)
    return app
