"""The texts of the page in the language of a request."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.requests import Request

from soel.text import LANGUAGES, Texts, texts_in

COOKIE = "soel-language"


def as_markup(texts: Texts, key: str, **values: Any) -> Markup:
    """A text for a template: what is no markup is escaped."""
    plain = {name: value if isinstance(value, Markup) else texts.format(value) for name, value in values.items()}
    return Markup(texts.form(key, values)).format(**plain)  # our own entries hold no markup and need no escaping


def texts_for(request: Request) -> Texts:
    """By the choice of the user, else by the wish of the browser."""
    chosen = request.cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return texts_in(chosen)
    wanted = [part.split(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")]
    return texts_in(next((language for language in wanted if language in LANGUAGES), "en"))
