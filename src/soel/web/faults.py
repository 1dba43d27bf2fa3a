"""Errors with a fitting status and never a trace, in the language of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from soel.errors import ConfigError, DataError, SessionError, SoelError, StorageError, UnknownItemError
from soel.session.labelling import OverwrittenError, version_of
from soel.web.dependencies import OtherPageError, OwnerOnlyError, PageContext
from soel.web.security import error_page, wants_page
from soel.web.sentences import error_words, texts_for

STATUS = ((UnknownItemError, 404), (OwnerOnlyError, 403), (DataError, 422), (ConfigError, 422), (SessionError, 409))


def add_handlers(app: FastAPI) -> None:
    """Let the app answer every error in the same form."""
    app.add_exception_handler(SoelError, _soel)
    app.add_exception_handler(StorageError, _storage)
    app.add_exception_handler(OtherPageError, _other_page)
    app.add_exception_handler(OverwrittenError, _overwritten)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def _soel(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 409)
    return _answer(request, status, error_words(str(error), texts_for(request)))


def _other_page(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error), "code": "page"}, 409)


def _overwritten(request: Request, error: Exception) -> Response:
    """With the text that is stored, so that nobody's words are lost."""
    text = cast(PageContext, request.app.state.context).view_model.session.guidelines
    return JSONResponse({"error": str(error), "text": text, "version": version_of(text)}, 409)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return _answer(request, 422, f"{place}: {first['msg']}. See /api/openapi.json for what is expected.")


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path[:200]
    if error.status_code == 404 and wants_page(request):
        return _answer(request, 404, texts_for(request)("error.nothing_at", path=path), error.headers)
    known = {
        404: f"There is nothing at {path}.",
        405: f"{path} takes no {request.method}.",
    }
    return _answer(request, error.status_code, known.get(error.status_code, f"{error.detail}."), error.headers)


def _storage(request: Request, error: Exception) -> Response:
    return _answer(request, 507, f"{error} Nothing was stored.")


def _bug(request: Request, error: Exception) -> Response:
    return _answer(request, 500, f"This is a bug: {type(error).__name__}. What was stored before is safe.")


def _answer(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    if wants_page(request):
        return error_page(request.app.state.context.templates, request, status, message)
    return JSONResponse({"error": message}, status, headers=dict(headers or {}))
