"""The texts of the page, in one place and in several languages: `languages/LANGUAGE.json`, one entry a text.

An entry is a text with {places}, or forms for one and for more, chosen by the place {n}. Numbers are written as the
language does. Of what the rooms below say in errors, `error_words`
knows the most frequent; the rest stays in English.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from markupsafe import Markup
from starlette.requests import Request

LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français"}
COOKIE = "soel-language"
_SEPARATORS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ",")}  # of thousands, and of decimals
_ONE = {"en": (1,), "de": (1,), "fr": (0, 1)}  # the numbers that take the form for one

Entry = str | Mapping[str, str]


class Texts:
    """The texts in one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """All of them by key."""
        place = files("soel.web") / "languages" / f"{self.language}.json"
        content: dict[str, Entry] = json.loads(place.read_text("utf-8"))
        return content

    def __call__(self, key: str, **values: Any) -> str:
        """A text with its places filled in."""
        return self._form(key, values).format(**{name: self._format(value) for name, value in values.items()})

    def markup(self, key: str, **values: Any) -> Markup:
        """The same for a page: what is no markup is escaped."""
        plain = {name: value if isinstance(value, Markup) else self._format(value) for name, value in values.items()}
        return Markup(self._form(key, values)).format(**plain)  # our own entries hold no markup and need no escaping

    def number(self, value: float, n_figures: int = 6) -> str:
        """With its thousands told apart; a whole number keeps all its figures."""
        if (float(value).is_integer() or abs(value) >= 10**n_figures) and abs(value) < 1e15:
            plain = f"{round(value):,}"
        else:
            plain = f"{value:,.{n_figures}g}"
        thousands, decimal = _SEPARATORS[self.language]
        return plain.translate({ord(","): thousands, ord("."): decimal})

    def percent(self, share: float) -> str:
        """A share as a person reads it; never a round 0 or 100 that is not exact."""
        if 0 < share < 0.01:
            return self("percent.below")
        if 0.99 < share < 1:
            return self("percent.above")
        return f"{100 * share:.0f} %"

    def _form(self, key: str, values: Mapping[str, Any]) -> str:
        entry = self.entries[key]
        if isinstance(entry, str):
            return entry
        return entry["one" if values["n"] in _ONE[self.language] else "other"]

    def _format(self, value: Any) -> str:
        return self.number(value) if isinstance(value, int | float) else str(value)


@cache
def texts_in(language: str) -> Texts:
    """The texts in a language; in English where there are none."""
    return Texts(language if language in LANGUAGES else "en")


ENGLISH = texts_in("en")


def texts_for(request: Request) -> Texts:
    """By the choice of the user, else by the wish of the browser."""
    chosen = request.cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return texts_in(chosen)
    wanted = [part.split(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")]
    return texts_in(next((language for language in wanted if language in LANGUAGES), "en"))
