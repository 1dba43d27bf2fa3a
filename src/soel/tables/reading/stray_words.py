"""Words among numbers or dates: refused, with the row and the word."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.tables.reading.numbers import fit_common_signs, share_of_numbers
from soel.tables.reading.units import CURRENCIES, FAMILY_OF

MOST = 0.5  # of the cells
_DATE = r"^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:\D|$)"
_DOTTED = r"^\d+(?:[.:]\d+){2,}$"  # addresses of machines, versions: codes, whatever else they look like
_UNIT = re.compile(r"\d(?:[eE][-+]?\d+)?[.,]?\s*([^\d\s()+.,'_-][^\d()+]*?)[\s)-]*$")


def check_not_mostly_numbers(name: str, texts: Any, asked: str | None) -> None:
    """Words among numbers or dates are a fault of the data: nobody wants a category for each number."""
    import pyarrow.compute as pc

    n_texts = len(texts) - texts.null_count
    if asked != "numeric" and pc.all(pc.match_substring_regex(texts, _DOTTED)).as_py():
        return
    if share_of_numbers(texts) > MOST:
        raise DataError(_describe(name, "mostly numbers", texts, _find_others(texts)))
    n_dates = int(pc.sum(pc.match_substring_regex(texts, _DATE)).as_py() or 0)
    if n_dates == n_texts:
        raise DataError(
            f"Column {name!r} holds dates that do not go together, such as {_first(texts)!r} and {_odd_one(texts)!r}. "
            "Write them in one form, or make the column categorical."
        )
    if n_dates > MOST * n_texts:
        others = np.asarray(pc.fill_null(pc.invert(pc.match_substring_regex(texts, _DATE)), False), bool)
        raise DataError(_describe(name, "mostly dates", texts, others))
    if asked == "numeric":
        others = _find_others(texts)
        raise DataError(
            f"Column {name!r} is asked for as numbers, but {_cells_are_not(int(others.sum()))}, such as "
            f"{texts[int(others.argmax())].as_py()!r}. Correct them, or read the column otherwise."
        )


def _describe(name: str, what: str, texts: Any, others: NDArray[np.bool_]) -> str:
    """others: which cells (N,) are not what the column mostly is."""
    row = int(others.argmax())
    return (
        f"Column {name!r} is {what}, but {_cells_are_not(int(others.sum()))}, such as {texts[row].as_py()!r} in "
        f"row {row}. Correct them, leave them empty where the value is missing, or make the column categorical."
    )


def _find_others(texts: Any) -> NDArray[np.bool_]:
    """Which cells (N,) do not go together with most: no numbers, numbers with other signs, or with other units."""
    others = ~fit_common_signs(texts)
    if others.any():
        return others
    families = [_family(text) if text is not None else "" for text in texts.to_pylist()]
    common = Counter(family for family in families if family).most_common(1)
    odd = np.array([bool(family) and family != common[0][0] for family in families], bool)
    return odd if odd.any() else np.asarray(texts.is_valid())


def _family(text: str) -> str:
    """What the unit of a number measures; empty where there is none."""
    unit = _UNIT.search(text)
    return "" if unit is None else "money" if unit[1] in CURRENCIES else FAMILY_OF.get(unit[1], unit[1])


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
