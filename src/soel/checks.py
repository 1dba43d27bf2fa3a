"""Checks of what people hand in: labels, counts and shares, names, texts and ids."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from numbers import Integral, Real
from reprlib import repr as shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import ConfigError, DataError, LabelError
from soel.types import LABEL_WORDS, Label

LABEL_CODES = "1 or 'anomaly', 0 or 'normal', -1, NaN, empty or 'unlabelled'"
_CODES = {float(label): label for label in Label}
_MISSING_TYPES = {"NAType", "NaTType"}  # pandas' markers, told by name so that pandas need not be imported
_TURNED_ROUND = {"1", "-1", "1.0", "-1.0"}
_N_SHOWN = 5

LONGEST_ID, LONGEST_NAME, LONGEST_NOTE, LONGEST_GUIDELINES = 1_000, 100, 10_000, 50_000
RESERVED = frozenset({"soel", "system"})  # who did what the session does itself
FORMULA_SIGNS = ("=", "+", "-", "@")  # a spreadsheet runs a cell that begins with one

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


def check_labels(y: Any, n_rows: int) -> NDArray[np.int8]:
    """Labels (n_rows,) of 1 anomaly, 0 normal, -1 not labelled, from the codes and words people write.

    None means that nothing is labelled. A column vector is taken as it is meant.
    """
    if y is None:
        return np.full(n_rows, -1, np.int8)
    cells = label_cells(y)
    if len(cells) != n_rows:
        raise LabelError(
            f"y holds {len(cells)} labels for {n_rows} rows. Give one label per row, -1 where there is none."
        )
    labels = _read_numbers(cells) if cells.dtype.kind in "buif" else _read_cells(cells)
    _check_direction(cells, labels)
    return labels


def is_missing(cell: Any) -> bool:
    """Whether a cell says 'no value': None, NaN, or the markers NA and NaT."""
    if cell is None or type(cell).__name__ in _MISSING_TYPES:
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return is_number(cell) and math.isnan(cell)


def is_number(cell: Any) -> bool:
    """Whether a cell is a real number of any library, Decimal and bool included."""
    return isinstance(cell, Real | np.bool_) or type(cell).__name__ == "Decimal"


def label_cells(y: Any) -> NDArray[Any]:
    """The cells (n,) of a list, array or series of labels."""
    import narwhals.stable.v2 as nw  # here, so that checking a name costs no data frames

    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_numpy()
    try:
        cells = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    except ValueError as error:
        raise LabelError(f"y cannot be read as a list of labels: {error}. Give one label per row.") from error
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells.ravel()
    if cells.ndim != 1:
        raise LabelError(f"y should be a 1d array, got an array of shape {cells.shape} instead.")
    if cells.dtype.kind == "c":
        raise LabelError(f"Complex data not supported: y holds complex numbers. Use {LABEL_CODES}.")
    return cells


def _read_numbers(cells: NDArray[Any]) -> NDArray[np.int8]:
    values = cells.astype(np.float64)
    values[np.isnan(values)] = -1
    unknown = ~np.isin(values, list(_CODES))
    if unknown.any():
        raise _unknown_labels(np.unique(values[unknown]).tolist(), int(unknown.sum()))
    return values.astype(np.int8)


def _read_cells(cells: NDArray[Any]) -> NDArray[np.int8]:
    # A number of numpy's cannot be compared with a Decimal; one of Python's can.
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells.tolist()]
    try:
        codes = {cell: _code(cell) for cell in set(plain)}
    except TypeError as error:
        raise LabelError(f"y holds things that are not labels: {error}. Use {LABEL_CODES}.") from error
    strange = [cell for cell, code in codes.items() if code is None]
    if strange:
        n_unknown = sum(codes[cell] is None for cell in plain)
        raise _unknown_labels(sorted(strange, key=repr), n_unknown)
    return np.array([codes[cell] for cell in plain], np.int8)


def _code(cell: Any) -> int | None:
    if is_missing(cell):
        return -1
    if is_number(cell):
        return _CODES.get(float(cell))
    word = str(cell).strip().lower()
    if not word:
        return Label.UNLABELLED
    if word in LABEL_WORDS:
        return LABEL_WORDS[word]
    try:
        number = float(word)  # codes that went through a text file
    except ValueError:
        return None
    return -1 if math.isnan(number) else _CODES.get(number)


def _unknown_labels(strange: list[Any], n_unknown: int) -> LabelError:
    shown = ", ".join(repr(cell) for cell in strange[:_N_SHOWN])
    more = ", ... and more" if len(strange) > _N_SHOWN else ""
    return LabelError(f"Unknown label type: {n_unknown} labels in y are {shown}{more}. Use {LABEL_CODES}.")


def _check_direction(cells: NDArray[Any], labels: NDArray[np.int8]) -> None:
    n_ones = int((labels == 1).sum())
    if 2 * n_ones <= len(labels) or (labels == 0).any() or not (labels == -1).any():
        return
    # Words and missing values cannot be scikit-learn's codes, so only literal -1 and 1 are suspicious.
    if {str(cell).strip() for cell in cells.tolist()} <= _TURNED_ROUND:
        raise LabelError(
            f"y holds only -1 and 1, and {n_ones} of {len(labels)} are 1: these look like scikit-learn's "
            "outlier codes, where -1 is the outlier. Here 1 is an anomaly, 0 normal and -1 not labelled: "
            "convert with np.where(y == -1, 1, 0)."
        )


def check_count(name: str, value: Any) -> int:
    """A whole number; 10.0 is one. Whether it is in range is for the caller to say."""
    if not _is_real(value) or not (isinstance(value, Integral) or float(value).is_integer()):
        raise ConfigError(f"{name} must be a whole number, got {_show(value)}; give one such as 10.")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """A share from 0 to 1."""
    if not _is_real(value) or not 0 <= value <= 1:
        raise ConfigError(f"{name} must be a share from 0 to 1, got {_show(value)}; give one such as 0.1.")
    return float(value)


def read_contamination(contamination: float | str | None) -> float | None:
    """A share given as a number; names and None are the estimators' business."""
    if contamination is None or isinstance(contamination, str):
        return None
    if not is_number(contamination) or not 0 < contamination <= 0.5:
        raise ConfigError(
            f"contamination must lie in (0, 0.5], got {contamination!r}; give such a share, a name or None."
        )
    return float(contamination)


def read_seed(random_state: Any) -> int:
    """The seed that a `random_state` gives."""
    from sklearn.utils import check_random_state  # here, so that checking a name does not load it

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ConfigError(
            f"random_state must be an integer from 0, a RandomState or None, got {random_state!r}; give one of these."
        ) from error


def _is_real(value: Any) -> bool:
    """Whether a value is a number that counts or measures: True and False do neither."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _show(value: Any) -> str:
    """A value as Python writes it, on one line and short: a whole column may have been given."""
    return " ".join(shorten(value).split())


def clean_name(name: str) -> str:
    """The name of an annotator as it is kept: one form of each letter, single spaces, nothing invisible.

    Names that belong to the system are refused.
    """
    clean = " ".join(unicodedata.normalize("NFC", name).split())
    if not clean or not clean.isprintable() or len(clean) > LONGEST_NAME:
        raise DataError(
            f"{name[:LONGEST_NAME]!r} is not a name for an annotator; use 1 to {LONGEST_NAME} printable characters."
        )
    if clean.startswith(FORMULA_SIGNS):
        raise DataError(f"The name {clean!r} begins with {clean[0]!r}, as a formula does; leave the sign out.")
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
