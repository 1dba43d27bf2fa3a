"""The way in and out, with a session or before there is one. A GET changes nothing: a key is used by a POST."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from soel.web.auth import LASTS, User
from soel.web.dependencies import BaseContext, BaseContextDep, TextsDep, UserDep

router = APIRouter(include_in_schema=False)
FORM, LONGEST_KEY = "application/x-www-form-urlencoded", 100
KEY = re.compile(r"[A-Za-z0-9_-]{1,100}")


@router.get("/enter", response_class=HTMLResponse)
def show_sign_in(request: Request, context: BaseContextDep, key: str = "") -> HTMLResponse:
    """The form that uses a key. Who is signed in as somebody else is asked first."""
    return _show_form(request, context, key[:LONGEST_KEY])


@router.post("/enter")
async def sign_in(request: Request, context: BaseContextDep) -> Response:
    """Use a key: from here on the browser has a cookie. Another user's sign-in ends only if that is meant."""
    key, may_switch = _read_form(request, await request.body())
    address = _address_of(request)
    if not may_switch and _other_user(request, context, key) is not None:
        return _show_form(request, context, key, 409)
    cookie = context.auth.sign_in(key)  # a good key works whatever others tried before from the same address
    if cookie is None:
        seconds = context.attempts.seconds_to_wait(address)
        if seconds:
            raise HTTPException(429, f"Too many tries; wait {seconds} seconds", {"retry-after": str(seconds)})
        context.attempts.note_failure(address)
        return context.templates.TemplateResponse(request, "welcome.html", {"refused": True}, status_code=403)
    if may_switch and request.state.user is not None:
        context.auth.sign_out(request.state.user)
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


def _show_form(request: Request, context: BaseContext, key: str, status: int = 200) -> HTMLResponse:
    values = {"key": key, "now": request.state.user, "then": _other_user(request, context, key)}
    return context.templates.TemplateResponse(request, "enter.html", values, status_code=status)


def _other_user(request: Request, context: BaseContext, key: str) -> User | None:
    """Whom a key lets in, where this browser is signed in as somebody else."""
    now, then = request.state.user, context.auth.holder_of(key)
    return then if now is not None and then is not None and then != now else None


def _read_form(request: Request, body: bytes) -> tuple[str, bool]:
    """The key, and whether another user may be signed out for it; whatever else is sent is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(415, f"A key is sent as a form ({FORM})")
    try:
        form = parse_qs(body.decode("ascii"), strict_parsing=True, max_num_fields=2, errors="strict")
    except ValueError:
        raise HTTPException(422, "The form holds one field, the key, and nothing else") from None
    keys, switch = form.pop("key", []), form.pop("switch", [])
    if form or len(keys) != 1 or not KEY.fullmatch(keys[0]) or switch not in ([], ["yes"]):
        raise HTTPException(422, "The form holds one field, the key, and nothing else")
    return keys[0], bool(switch)


def _address_of(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _set_cookie(answer: Response, context: BaseContext, request: Request, cookie: str, seconds: int) -> None:
    secure = context.site.is_secure(request)
    answer.set_cookie(
        context.site.cookie, cookie, max_age=seconds, httponly=True, samesite="strict", path="/", secure=secure
    )
