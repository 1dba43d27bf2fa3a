"""What stands for a missing value: words in text, codes among numbers.

A code for a missing value, such as -999, is known by three things together: it is one of those that programs and
questionnaires use, it repeats, and it lies far from all other values of its column. Any of them alone is an ordinary
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soel.tables.arrow import nulls_where, pa, pc
from soel.tables.column import Values
from soel.types import Floats

MISSING = (
    "", "-", "--", "---", ".", "..", "...", "?", "*", "/", "n/a", "na", "n.a.", "n.a", "n. a.", "#n/a", "#na",
    "#n/a n/a", "nan", "-nan", "null", "nil", "none", "missing", "unknown", "not available", "no data", "nd",
    "n.d.", "k.a.", "k. a.", "#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!", "(null)", "<na>", "nat",
    "tbd", "\u2013", "\u2014", "<lod", "<loq", "< lod", "< loq", "bdl", "n.n.",
)  # fmt: skip
_NINES = (99.0, 999.0, 9999.0, 99999.0, 999999.0)
_POINTED = (999.9, 9999.9)  # of weather stations
_HUGE = (1e20, 1e30, 1e31, 1e34, 1e35, 9.969209968386869e36, 3.4028234663852886e38)  # of grids and of instruments
_NEGATIVE = (9.0, 99.9, 999.25, 32768.0, 2147483648.0)  # the last two: the lowest of whole numbers of their size
CODES = (
    *_NINES, *_POINTED, *_HUGE, *(-code for code in (*_NINES, *_POINTED, *_HUGE, *_NEGATIVE)),
)  # fmt: skip
FEW, ENOUGH, SHARE = 2, 20, 0.002  # cells that a code has at least: 2, and a share of the present ones or 20
N_OTHERS = 20  # cells that have to show where the others lie
FAR = 5.0  # ranges of the other values between them and a code: 99999 as the cap of a gain has 2.6
MOST = 0.9  # of the other values, whose range is enough for a code that alone is below zero
_KNOWN = frozenset(CODES) | frozenset(float(np.float32(code)) for code in CODES)


def blank_missing(texts: Any) -> Any:
    """Tidy Arrow strings with null for every word that says 'no value'."""
    return nulls_where(pc.is_in(pc.utf8_lower(texts), pa.array(MISSING, pa.string())), texts)


def find_codes(values: Floats) -> tuple[float, ...]:
    """The codes for missing values among numbers (N,) with NaN, in their order; most columns have none."""
    with np.errstate(invalid="ignore"):
        low, high = (np.fmin.reduce(values), np.fmax.reduce(values)) if len(values) else (np.nan, np.nan)
    if not _KNOWN.intersection((float(low), float(high))):  # what is far from all others is at an end
        return ()
    present = values[~np.isnan(values)]
    counts = {code: int(are_codes(present, [code]).sum()) for code in CODES}
    codes = [code for code, n in counts.items() if n >= FEW and (n >= ENOUGH or n >= SHARE * len(present))]
    while codes:
        others = present[~are_codes(present, codes)]
        far = [code for code in codes if _is_far(code, others)]
        if len(far) == len(codes):
            break
        codes = far
    return tuple(sorted(codes))


def are_codes(values: Floats, codes: Sequence[float]) -> Values:
    """Which of the numbers (N,) are one of the codes, also as float32 has them."""
    return np.isin(values, [*codes, *(float(np.float32(code)) for code in codes)])


def blank_codes(values: Floats, codes: Sequence[float]) -> Floats:
    """The numbers (N,) with NaN for the codes."""
    return np.where(are_codes(values, codes), np.nan, values) if codes else values


def write_code(code: float) -> str:
    """A code as people write it."""
    return f"{code:.7g}" if abs(code) < 1e15 else f"{code:.2g}"


def _is_far(code: float, others: Floats) -> bool:
    """Whether a code lies far from all others: by several of their ranges, or as the only sign that is negative.

    Where no other value is below zero, one range is enough, and that of most: a long tail says nothing about the sign.
    A lowest value that dominates, such as 0 in counts, does not make that range small.
    """
    if len(others) < N_OTHERS:
        return False
    low, high = float(others.min()), float(others.max())
    if not low < high:
        return False
    if code < 0 <= low:
        return low - code > float(np.quantile(others[others > low], MOST)) - low
    return max(low - code, code - high) > FAR * (high - low)
