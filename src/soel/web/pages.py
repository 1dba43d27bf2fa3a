"""Answers as pages: for a browser that goes somewhere, not for a script that asks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.templating import Jinja2Templates

from soel.web.texts import texts_for


def wants_page(request: Request) -> bool:
    """Whether a person looks at the answer; the API always answers in JSON."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")


def error_page(templates: Jinja2Templates, request: Request, status: int, message: str) -> Response:
    """What was wrong, and the way back."""
    title = texts_for(request)("error.missing" if status == 404 else "error.other")
    values = {"title": title, "message": message, "user": getattr(request.state, "user", None)}
    return templates.TemplateResponse(request, "error.html", values, status_code=status)
