"""Words among numbers or dates: refused, with the row and the word."""

from __future__ import annotations

from typing import Any

from soel.data.reading.numbers import share_of_numbers
from soel.errors import DataError

MOST = 0.5  # of the cells


def check_not_mostly_numbers(name: str, texts: Any, asked: str | None) -> None:
    """Words among numbers or dates are a fault of the data: nobody wants a category for each number."""
    import pyarrow.compute as pc

    numbers, share = "numbers", share_of_numbers(texts)
    pattern = r"^[-+$€£(]?\d" if share > MOST else r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
    looks = pc.match_substring_regex(texts, pattern)
    if share <= MOST:
        n_texts = len(texts) - texts.null_count
        numbers, share = "dates", float(pc.sum(looks).as_py() or 0) / n_texts
    if share <= MOST:
        if asked != "numeric":
            return
        n_words = round((1 - share_of_numbers(texts)) * (len(texts) - texts.null_count))
        raise DataError(
            f"Column {name!r} is asked for as numbers, but {n_words} cells are not, such as "
            f"{texts[_first_word(texts, 'numbers')].as_py()!r}. Correct them, or read the column otherwise."
        )
    row = _first_word(texts, numbers)
    n_words = round((1 - share) * (len(texts) - texts.null_count))
    raise DataError(
        f"Column {name!r} is mostly {numbers}, but {max(n_words, 1)} cells are not, such as {texts[row].as_py()!r} in "
        f"row {row}. Correct them, leave them empty where the value is missing, or make the column categorical."
    )


def _first_word(texts: Any, numbers: str) -> int:
    import pyarrow.compute as pc

    pattern = (
        r"^[-+$€£(.,\s]*\d[\d.,' ]*(?:[eE][-+]?\d+)?[^\d\w]*$"
        if numbers == "numbers"
        else r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
    )
    row = pc.index(pc.match_substring_regex(texts, pattern), False).as_py()
    return max(int(row), 0)
