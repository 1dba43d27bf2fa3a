"""Errors as short JSON with a fitting status, never a trace."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from soel.errors import ConfigError, DataError, SessionError, SoelError, UnknownItemError
from soel.web.dependencies import OwnerOnlyError

STATUS = ((UnknownItemError, 404), (OwnerOnlyError, 403), (DataError, 422), (ConfigError, 422), (SessionError, 409))


def add_handlers(app: FastAPI) -> None:
    """Let the app answer every error in the same form."""
    app.add_exception_handler(SoelError, _soel)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def _soel(_request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 409)
    return _answer(status, str(error))


def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return _answer(422, f"{place}: {first['msg']}. See /api/openapi.json for what is expected.")


def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": f"{error.detail}."}, error.status_code, headers=error.headers)


def _bug(_request: Request, error: Exception) -> Response:
    return _answer(500, f"This is a bug: {type(error).__name__}. What was stored before is safe.")


def _answer(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)
