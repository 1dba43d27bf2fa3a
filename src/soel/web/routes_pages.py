"""The pages themselves, and the way in. A GET changes nothing: a key is used by the POST of its form."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from soel.web.context import Asker, TheParts
from soel.web.door import LASTS
from soel.web.markdown import render

router = APIRouter(include_in_schema=False)
PAGES = {"/": "label.html", "/review": "review.html", "/results": "results.html", "/team": "team.html"}
LONGEST_KEY = 100
ITEMS = ".items.csv"  # what a session on pictures calls its own list of them


def show_page(request: Request, parts: TheParts, visitor: Asker) -> HTMLResponse:
    """One of the pages; what changes on it is fetched from the API."""
    session, path = parts.desk.session, request.url.path
    context: dict[str, Any] = {"visitor": visitor, "here": path, "source": session.config.source.removesuffix(ITEMS)}
    if path == "/":
        text = session.guidelines
        context |= {"guideline_text": text, "guideline": render(text or NO_GUIDELINE)}
    return parts.templates.TemplateResponse(request, PAGES[path], context)


for path in PAGES:
    router.add_api_route(path, show_page, response_class=HTMLResponse)

NO_GUIDELINE = "*The session's owner has not written a guideline yet.*"


@router.get("/enter", response_class=HTMLResponse)
def show_door(request: Request, parts: TheParts, key: str = "") -> HTMLResponse:
    """The form that uses a key."""
    return parts.templates.TemplateResponse(request, "enter.html", {"key": key[:LONGEST_KEY]})


@router.post("/enter")
async def enter(request: Request, parts: TheParts) -> Response:
    """Use a key: from here on the browser has a cookie."""
    form = parse_qs((await request.body()).decode("ascii", "replace"), max_num_fields=5)
    cookie = parts.door.enter(form.get("key", [""])[0][:LONGEST_KEY])
    if cookie is None:
        context = {"refused": True}
        return parts.templates.TemplateResponse(request, "welcome.html", context, status_code=403)
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(parts.house.cookie, cookie, max_age=LASTS, httponly=True, samesite="strict", path="/")
    return answer


@router.get("/welcome", response_class=HTMLResponse)
def show_welcome(request: Request, parts: TheParts) -> HTMLResponse:
    """What a visitor without a cookie sees."""
    return parts.templates.TemplateResponse(request, "welcome.html", {}, status_code=401)


@router.get("/health")
def health() -> JSONResponse:
    """That the server is there."""
    return JSONResponse({"ok": True})
