"""What people type: names of annotators, notes, guidelines, ids. One set of limits, wherever they come in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from soel.errors import DataError

LONGEST_ID, LONGEST_NAME, LONGEST_NOTE, LONGEST_GUIDELINES = 1_000, 100, 10_000, 50_000
RESERVED = frozenset({"soel"})  # who did what the session does itself

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
TEXT_PATTERN = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"  # tabs and line ends may stay; for descriptions of an API
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# Cyrillic and Greek letters that, small or capital, look like Latin ones; case is folded before.
_TWINS = str.maketrans(
    "\u0430\u0432\u0435\u0456\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0458\u0501"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abeikmhopctyxsjdabezhikmnoptyx",
)
_DIGITS = str.maketrans("01|", "oll")  # ... and what stands for a letter in many a typeface
_OVERLOOKED = re.compile(r"[\u0300-\u036f]")  # accents, taken off their letters


def clean_name(name: str) -> str:
    """The name of an annotator as it is kept: one form of each letter, single spaces, nothing invisible.

    Names that belong to the system are refused.
    """
    clean = " ".join(unicodedata.normalize("NFC", name).split())
    if not clean or not clean.isprintable() or len(clean) > LONGEST_NAME:
        raise DataError(
            f"{name[:LONGEST_NAME]!r} is not a name for an annotator; use 1 to {LONGEST_NAME} printable characters."
        )
    if RESERVED & set(_appearances(clean)):
        raise DataError(f"{clean!r} is what the session calls itself; choose another name.")
    return clean


def check_distinct(name: str, others: Iterable[str]) -> None:
    """Refuse a new name that cannot be told from one of the others: by case, accents, spaces or another alphabet.

    One of the others itself is welcome.
    """
    known = set(others)
    twin = None if name in known else next((other for other in known if _look_alike(name, other)), None)
    if twin is not None:
        raise DataError(f"{name!r} looks like {twin!r}, who is here already; use that name, or a clearly other one.")


def check_text(text: str, longest: int = LONGEST_NOTE) -> str:
    """The text, if it can be stored everywhere: not too long, no control characters but tabs and line ends."""
    if len(text) > longest:
        raise DataError(f"The text has {len(text)} characters, at most {longest} are kept; shorten it.")
    if (found := _CONTROL_IN_TEXT.search(text)) is not None:
        raise DataError(f"The text holds {found.group()!r}, which is no character to read; remove it.")
    return text


def check_id(text: str) -> str:
    """The id of an item, if it can be shown on one line and stored everywhere."""
    if not text or len(text) > LONGEST_ID:
        raise DataError(f"An id has 1 to {LONGEST_ID} characters, got {len(text)}: {text[:40]!r}; choose another one.")
    if (found := _CONTROL.search(text)) is not None:
        raise DataError(f"The id {text[:40]!r} holds {found.group()!r}, a control character; remove it.")
    return text


def _look_alike(name: str, other: str) -> bool:
    return any(one == two for one, two in zip(_appearances(name), _appearances(other), strict=True))


def _appearances(name: str) -> tuple[str, str]:
    """What is left of a name when all that the eye overlooks is taken away: case, accents, spaces, the invisible.

    Twice, because a capital I is an i to one reader and an l to another.
    """
    plain = unicodedata.normalize("NFKD", name)
    return _bare(plain), _bare(plain.replace("I", "l").translate(_DIGITS)).replace("rn", "m")


def _bare(name: str) -> str:
    bare = _OVERLOOKED.sub("", name.casefold()).translate(_TWINS)
    return "".join(letter for letter in bare if unicodedata.category(letter) not in ("Cf", "Zs"))
