"""The way in, with a session or before there is one. A GET changes nothing: a key is used by the POST of its form."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from soel.web.context import TheEntrance
from soel.web.door import LASTS

router = APIRouter(include_in_schema=False)
LONGEST_KEY = 100


@router.get("/enter", response_class=HTMLResponse)
def show_door(request: Request, entrance: TheEntrance, key: str = "") -> HTMLResponse:
    """The form that uses a key."""
    return entrance.templates.TemplateResponse(request, "enter.html", {"key": key[:LONGEST_KEY]})


@router.post("/enter")
async def enter(request: Request, entrance: TheEntrance) -> Response:
    """Use a key: from here on the browser has a cookie."""
    form = parse_qs((await request.body()).decode("ascii", "replace"), max_num_fields=5)
    cookie = entrance.door.enter(form.get("key", [""])[0][:LONGEST_KEY])
    if cookie is None:
        context = {"refused": True}
        return entrance.templates.TemplateResponse(request, "welcome.html", context, status_code=403)
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(entrance.house.cookie, cookie, max_age=LASTS, httponly=True, samesite="strict", path="/")
    return answer


@router.get("/welcome", response_class=HTMLResponse)
def show_welcome(request: Request, entrance: TheEntrance) -> HTMLResponse:
    """What a visitor without a cookie sees."""
    return entrance.templates.TemplateResponse(request, "welcome.html", {}, status_code=401)


@router.get("/health")
def health() -> JSONResponse:
    """That the server is there."""
    return JSONResponse({"ok": True})
