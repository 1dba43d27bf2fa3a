"""Names of people: one person, one name, and nobody can pass for another or for the system.

Two names look alike when their skeletons are equal: the letters after compatibility folding, without case, accents
and invisible characters, and with the usual look-alikes of other scripts and of digits put to their Latin letter.
A full table of look-alikes has thousands of entries; what this short one misses, mixing of scripts mostly gives away.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from soel.errors import SessionError

SYSTEM, OWNERS = ("soel", "system"), ("owner", "admin")
_LOOKS = str.maketrans(
    {
        **dict(zip("авекмнорстухісјѕԁԛԝ", "abekmhopctyxicjsdqw", strict=True)),  # Cyrillic
        **dict(zip("αβγεζηικνορτυχω", "abyeznikvoptuxw", strict=True)),  # Greek
        **dict(zip("0135|", "olesl", strict=True)),
    }
)
_MIXED = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}


def look_alike(name: str, other: str) -> bool:
    """Whether two names could be taken for one another. A capital I is either an i or, to the eye, an l."""
    return any(_skeleton(name, capital) == _skeleton(other, capital) for capital in ("i", "l"))


def check_name(name: str, others: Iterable[str], is_owner: bool = False) -> None:
    """Refuse a name that belongs to the system or looks like another person's. The very same name is no other."""
    kept = SYSTEM if is_owner else (*SYSTEM, *OWNERS)
    if not _skeleton(name) or any(look_alike(name, word) for word in kept):
        raise SessionError(f"{name!r} is kept for the session itself; choose a person's name.")
    if any(unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn") for letter in name):
        raise SessionError(f"{name!r} holds characters that nobody can see; write the name with letters only.")
    if len(_scripts(name)) > 1:
        raise SessionError(f"{name!r} mixes letters of {' and '.join(sorted(_scripts(name)))}; use one alphabet.")
    for other in others:
        if other != name and look_alike(name, other):
            raise SessionError(f"{name!r} looks like {other!r}, who is here already; choose a name that differs more.")


def _skeleton(name: str, capital_i: str = "i") -> str:
    """What a name looks like at a glance."""
    folded = unicodedata.normalize("NFKC", name).replace("I", capital_i).casefold()
    apart = unicodedata.normalize("NFD", folded)
    seen = "".join(letter for letter in apart if unicodedata.category(letter) not in ("Mn", "Me", "Cf"))
    plain = "".join(seen.translate(_LOOKS).split())
    return plain.replace("rn", "m").replace("vv", "w")


def _scripts(name: str) -> set[str]:
    """The alphabets of a name, of those that have letters in common to the eye."""
    letters = (unicodedata.name(letter, "").split(" ", 1)[0] for letter in name if letter.isalpha())
    return {script for script in letters if script in _MIXED}
