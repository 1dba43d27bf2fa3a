"""The way in and out, with a session or before there is one. A GET changes nothing: a key is used by a POST."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from soel.web.auth import LASTS
from soel.web.dependencies import BaseContext, BaseContextDep, TextsDep, UserDep

router = APIRouter(include_in_schema=False)
FORM, LONGEST_KEY = "application/x-www-form-urlencoded", 100
KEY = re.compile(r"[A-Za-z0-9_-]{1,100}")


@router.get("/enter", response_class=HTMLResponse)
def show_sign_in(request: Request, context: BaseContextDep, key: str = "") -> HTMLResponse:
    """The form that uses a key."""
    return context.templates.TemplateResponse(request, "enter.html", {"key": key[:LONGEST_KEY]})


@router.post("/enter")
async def sign_in(request: Request, context: BaseContextDep) -> Response:
    """Use a key: from here on the browser has a cookie."""
    key, address = _key_of(request, await request.body()), _address_of(request)
    seconds = context.attempts.seconds_to_wait(address)
    if seconds:
        raise HTTPException(429, f"Too many tries; wait {seconds} seconds", {"retry-after": str(seconds)})
    cookie = context.auth.sign_in(key)
    if cookie is None:
        context.attempts.note_failure(address)
        return context.templates.TemplateResponse(request, "welcome.html", {"refused": True}, status_code=403)
    answer = RedirectResponse("/", status_code=303)
    _set_cookie(answer, context, request, cookie, LASTS)
    return answer


@router.post("/sign-out")
def sign_out(request: Request, context: BaseContextDep, user: UserDep) -> Response:
    """End this browser's sign-in."""
    context.auth.sign_out(user)
    answer = RedirectResponse("/welcome", status_code=303)
    _set_cookie(answer, context, request, "", 0)
    return answer


@router.get("/welcome", response_class=HTMLResponse)
def show_welcome(request: Request, context: BaseContextDep) -> HTMLResponse:
    """What a user without a cookie sees."""
    return context.templates.TemplateResponse(request, "welcome.html", {}, status_code=401)


@router.get("/texts.js")
def read_texts(texts: TextsDep) -> Response:
    """The texts of the page in the user's language, as a module."""
    entries = json.dumps(texts.entries, ensure_ascii=False)
    module = f"export const language = {json.dumps(texts.language)};\nexport const entries = {entries};\n"
    return Response(module, media_type="text/javascript")


@router.get("/health")
def health() -> JSONResponse:
    """That the server is there."""
    return JSONResponse({"ok": True})


def _key_of(request: Request, body: bytes) -> str:
    """The one key of the form; whatever else is sent is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(415, f"A key is sent as a form ({FORM})")
    try:
        form = parse_qs(body.decode("ascii"), strict_parsing=True, max_num_fields=1, errors="strict")
    except ValueError:
        raise HTTPException(422, "The form holds one field, the key, and nothing else") from None
    keys = form.get("key", [])
    if len(keys) != 1 or not KEY.fullmatch(keys[0]):
        raise HTTPException(422, "The form holds one field, the key, and nothing else")
    return keys[0]


def _address_of(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _set_cookie(answer: Response, context: BaseContext, request: Request, cookie: str, seconds: int) -> None:
    secure = context.site.is_secure(request)
    answer.set_cookie(
        context.site.cookie, cookie, max_age=seconds, httponly=True, samesite="strict", path="/", secure=secure
    )
