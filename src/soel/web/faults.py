"""Errors with a fitting status and never a trace, and what experts meet most in the language of the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from soel.errors import ConfigError, DataError, SessionError, SoelError, StorageError, UnknownItemError
from soel.session.labelling import OverwrittenError, version_of
from soel.text import Texts
from soel.web.dependencies import OtherPageError, OwnerOnlyError, PageContext
from soel.web.security import error_page, wants_page
from soel.web.sentences import texts_for

_FILE = re.compile(r"(?P<file>[^:'\n]{1,200}): (?=Column |The id column |The feature names )")
_NOT = r"but (?P<n>[\d,]+) cells? (?:is|are) not, such as (?P<cell>'.*')"
_NAME, _CELL, _IN_FILE = "(?P<name>'.+')", "(?P<cell>'.*')", "(?P<file>.+)"
_SENTENCES = {
    key: re.compile(pattern, re.DOTALL)
    for key, pattern in {
        "fault.no_column": rf"{_IN_FILE} has no column (?P<names>'.+')\. Choose among its columns: (?P<known>.+)\.",
        "fault.not_numbers": rf"Column {_NAME} is asked for as numbers, {_NOT}\. Correct .+",
        "fault.mostly_numbers": rf"Column {_NAME} is mostly numbers, {_NOT} in row (?P<row>\d+)\. .+",
        "fault.mostly_dates": rf"Column {_NAME} is mostly dates, {_NOT} in row (?P<row>\d+)\. .+",
        "fault.dates": rf"Column {_NAME} holds dates that do not go together, such as {_CELL} and (?P<other>'.*')\. .+",
        "fault.not_a_time": rf"Column {_NAME} is asked for as a time, but its cells \(such as {_CELL}\) .+",
        "fault.differs": rf"Column {_NAME} held .+ in the pool(?: \(such as (?P<before>'.*')\))? and holds "
        r"(?:text|values) such as (?P<cell>.+?)(?: in row \d+)? now\. .+",
        "fault.format": rf"{_IN_FILE} has the suffix (?P<suffix>'.*'), which .+? format\. Use (?P<known>.+)\.",
        "fault.empty": rf"{_IN_FILE} is empty\. .+",
        "fault.not_a_table": rf"{_IN_FILE} cannot be read as a table: (?P<why>.+)",
        "fault.sheets": rf"{_IN_FILE} has \d+ (?:sheets|tables) \((?P<known>.+)\)\. Choose one with --\w+\.",
        "fault.id_twice": rf"The id column {_NAME} is not unique: {_CELL} stands in (?P<n>\d+) rows\. .+",
        "fault.id_empty": rf"The id column {_NAME} is empty in row (?P<row>\d+) \((?P<n>\d+) in all\)\. .+",
        "fault.other_columns": r"The feature names should match those .+? fit\.\n(?P<names>.*)\nGive .+",
        "fault.lacks": rf"{_IN_FILE} lacks the column (?P<names>.+); nothing was stored\.",
        "fault.no_items": r"This session has no item (?P<names>'.+?')(?: and more)?; nothing was stored\. .+",
    }.items()
}
LONGEST = 2000  # letters of a message that is looked at; a cell can be of any length


def error_words(message: str, texts: Texts) -> str:
    """An error as the page says it."""
    if texts.language == "en" or len(message) > LONGEST:
        return message
    named = _FILE.match(message)
    rest = message[named.end() :] if named else message
    for key, pattern in _SENTENCES.items():
        if found := pattern.fullmatch(rest):
            values = {name: value or "" for name, value in found.groupdict().items()}
            if key == "fault.other_columns":
                values["names"] = _list_columns(values["names"], texts)
            return (f"{named['file']}: " if named else "") + texts(key, **_counted(values))
    return message


def _list_columns(listed: str, texts: Texts) -> str:
    """Columns that are new and those that are missing, from a list of lines with titles."""
    found, title = [], ""
    for line in listed.splitlines():
        if line.startswith("- "):
            found.append(f"{line[2:]} ({title})")
        else:
            title = texts("fault.missing" if "missing" in line else "fault.unseen")
    return ", ".join(found)


def _counted(values: dict[str, str]) -> dict[str, str | int]:
    """The places of a text; a number chooses its form."""
    return {name: int(value.replace(",", "")) if name == "n" else value for name, value in values.items()}


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
