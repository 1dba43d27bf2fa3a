"""Words among numbers or dates: refused, with the row and the word."""

from __future__ import annotations

import re
from typing import Any

from soel.data.reading.numbers import share_of_numbers
from soel.errors import DataError

MOST = 0.5  # of the cells
_NUMBER = r"^[-+$€£(.,\s]*\d[\d.,' ]*(?:[eE][-+]?\d+)?[^\d\w]*$"
_DATE = r"^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:\D|$)"
_DOTTED = r"^\d+(?:[.:]\d+){2,}$"  # addresses of machines, versions: codes, whatever else they look like


def check_not_mostly_numbers(name: str, texts: Any, asked: str | None) -> None:
    """Words among numbers or dates are a fault of the data: nobody wants a category for each number."""
    import pyarrow.compute as pc

    n_texts, share = len(texts) - texts.null_count, share_of_numbers(texts)
    if asked != "numeric" and pc.all(pc.match_substring_regex(texts, _DOTTED)).as_py():
        return
    if share > MOST:
        n_words, row = round((1 - share) * n_texts), _first_other(texts, _NUMBER)
        raise DataError(_describe(name, "mostly numbers", n_words, texts, row))
    n_dates = int(pc.sum(pc.match_substring_regex(texts, _DATE)).as_py() or 0)
    if n_dates == n_texts:
        raise DataError(
            f"Column {name!r} holds dates that do not go together, such as {_first(texts)!r} and {_odd_one(texts)!r}. "
            "Write them in one form, or make the column categorical."
        )
    if n_dates > MOST * n_texts:
        raise DataError(_describe(name, "mostly dates", n_texts - n_dates, texts, _first_other(texts, _DATE)))
    if asked == "numeric":
        n_words = max(round((1 - share) * n_texts), 1)
        raise DataError(
            f"Column {name!r} is asked for as numbers, but {_cells_are_not(n_words)}, such as "
            f"{texts[_first_other(texts, _NUMBER)].as_py()!r}. Correct them, or read the column otherwise."
        )


def _describe(name: str, what: str, n_words: int, texts: Any, row: int) -> str:
    return (
        f"Column {name!r} is {what}, but {_cells_are_not(max(n_words, 1))}, such as {texts[row].as_py()!r} in "
        f"row {row}. Correct them, leave them empty where the value is missing, or make the column categorical."
    )


def _cells_are_not(n: int) -> str:
    return "1 cell is not" if n == 1 else f"{n:,} cells are not"


def _first(texts: Any) -> str:
    return str(texts.drop_null()[0].as_py())


def _odd_one(texts: Any) -> str:
    """A cell whose signs differ most from those of the first: what does not go together with it."""
    first = _signs(_first(texts))
    cells = texts.drop_null().unique().to_pylist()
    return str(next((cell for cell in cells if _signs(cell) != first), cells[-1]))


def _signs(cell: str) -> str:
    return re.sub(r"\d+", lambda found: str(len(found[0])), cell)


def _first_other(texts: Any, pattern: str) -> int:
    import pyarrow.compute as pc

    row = pc.index(pc.match_substring_regex(texts, pattern), False).as_py()
    return max(int(row), 0)
