"""The pages themselves; what changes on them is fetched from the API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from soel.session.labelling import version_of
from soel.web.dependencies import ContextDep, TextsDep, UserDep
from soel.web.markdown import render

router = APIRouter(include_in_schema=False)
PAGES = {
    "/": "label.html",
    "/items": "items.html",
    "/review": "review.html",
    "/results": "results.html",
    "/team": "team.html",
    "/data": "data.html",
}


def show_page(request: Request, page: ContextDep, user: UserDep, texts: TextsDep) -> HTMLResponse:
    """One of the pages; what changes on it is fetched from the API."""
    session, path = page.view_model.session, request.url.path
    context: dict[str, Any] = {"user": user, "here": path, "source": session.title, "session": session.config.session}
    if path in ("/", "/data"):
        context |= {"pictures": session.folder.has_pictures, "goal": session.config.goal}
    if path == "/":
        text = session.guidelines
        context |= {"guideline_text": text, "guideline_version": version_of(text)}
        context |= {"guideline": render(text or texts("label.no_guideline"))}
    return page.templates.TemplateResponse(request, PAGES[path], context)


for path in PAGES:
    router.add_api_route(path, show_page, response_class=HTMLResponse)
