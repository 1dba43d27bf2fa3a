"""The way in, with a session or before there is one. A GET changes nothing: a key is used by the POST of its form."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from soel.web.auth import LASTS
from soel.web.dependencies import BaseContextDep

router = APIRouter(include_in_schema=False)
LONGEST_KEY = 100


@router.get("/enter", response_class=HTMLResponse)
def show_sign_in(request: Request, context: BaseContextDep, key: str = "") -> HTMLResponse:
    """The form that uses a key."""
    return context.templates.TemplateResponse(request, "enter.html", {"key": key[:LONGEST_KEY]})


@router.post("/enter")
async def sign_in(request: Request, context: BaseContextDep) -> Response:
    """Use a key: from here on the browser has a cookie."""
    form = parse_qs((await request.body()).decode("ascii", "replace"), max_num_fields=5)
    cookie = context.auth.sign_in(form.get("key", [""])[0][:LONGEST_KEY])
    if cookie is None:
        values = {"refused": True}
        return context.templates.TemplateResponse(request, "welcome.html", values, status_code=403)
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(context.site.cookie, cookie, max_age=LASTS, httponly=True, samesite="strict", path="/")
    return answer


@router.get("/welcome", response_class=HTMLResponse)
def show_welcome(request: Request, context: BaseContextDep) -> HTMLResponse:
    """What a user without a cookie sees."""
    return context.templates.TemplateResponse(request, "welcome.html", {}, status_code=401)


@router.get("/health")
def health() -> JSONResponse:
    """That the server is there."""
    return JSONResponse({"ok": True})
