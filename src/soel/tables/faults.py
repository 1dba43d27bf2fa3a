"""What a damaged file makes libraries raise, and how that is said in one line that no terminal obeys."""

from __future__ import annotations

import unicodedata

# Arrow's errors are of these kinds; a file that claims more memory than there is counts among them.
FAULTS = (
    ValueError,
    KeyError,
    OSError,
    MemoryError,
    NotImplementedError,
    TypeError,
    IndexError,
    EOFError,
    RuntimeError,
)
_LONGEST = 200


def reason(error: BaseException) -> str:
    """Why a file cannot be read: the first line of an error, with control characters made visible."""
    text = (str(error) or type(error).__name__).splitlines()[0][:_LONGEST].rstrip(".")
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    obeyed = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character.encode("unicode_escape").decode("ascii") if obeyed else character
