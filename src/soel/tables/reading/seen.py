"""What the pool holds in a column: counts, a few examples, a small picture, and what looks odd."""

from __future__ import annotations

from typing import Any

import numpy as np

from soel.tables.columns import Column
from soel.tables.reading.kinds import Seen
from soel.tables.reading.words import Words
from soel.text import percent
from soel.types import Floats

N_BARS, N_EXAMPLES = 16, 3
MOSTLY = 0.9  # a share of missing cells that is worth a word


def ends_as_written(texts: Any, values: Column) -> tuple[str, ...]:
    """The cells with the smallest and the largest of the values (N,) as they are written.

    Of several, the first by the alphabet, so that the order of rows does not matter.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    present = values[~(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))]
    if not len(present):
        return ()
    ends = (pc.min(texts.filter(pa.array(values == end))).as_py() for end in (present.min(), present.max()))
    return tuple(dict.fromkeys(map(str, ends)))


def see_numbers(values: Floats, examples: tuple[str, ...] = ()) -> Seen:
    """Of numbers (N,), NaN for missing."""
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if not len(present):
        return Seen(n_missing)
    ordered = np.sort(present)
    n_distinct = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    low, high = ordered[int(0.005 * (len(ordered) - 1))], ordered[int(np.ceil(0.995 * (len(ordered) - 1)))]
    bars = _bars(ordered, float(low), float(high))
    ends = _number(float(ordered[0])), _number(float(ordered[-1]))
    return Seen(n_missing, n_distinct, examples or tuple(dict.fromkeys(ends)), (), bars, *ends)


def see_times(values: Any, examples: tuple[str, ...] = ()) -> Seen:
    """Of times (N,), NaT for missing."""
    missing = np.isnat(values)
    seconds = np.where(missing, np.nan, values.astype(np.int64) / 1e6)
    seen = see_numbers(seconds)
    if missing.all():
        return seen
    ends = [
        str(end.astype("datetime64[s]")).replace("T", " ") for end in (values[~missing].min(), values[~missing].max())
    ]
    return Seen(seen.n_missing, seen.n_distinct, examples or tuple(dict.fromkeys(ends)), (), seen.bars, *ends)


def see_words(words: Words, n_rows: int) -> Seen:
    """Of texts: the bars are the most frequent ones."""
    bars = words.counts[:N_BARS] if words.n_distinct > 1 else ()
    low, high = (words.top[0], "") if words.top else ("", "")
    return Seen(n_rows - words.n_cells, words.n_distinct, tuple(words.top[:N_EXAMPLES]), (), bars, low, high)


def find_oddities(seen: Seen, n_rows: int) -> tuple[str, ...]:
    """What the counts of a column alone say, in words."""
    odd = []
    if n_rows and seen.n_missing == n_rows:
        odd.append("empty")
    elif seen.n_missing > MOSTLY * n_rows:
        odd.append(f"mostly empty: {percent(seen.n_missing / n_rows)} of the cells are missing")
    if seen.n_distinct == 1 and not seen.n_missing:
        odd.append("constant")
    return tuple(odd)


def _bars(ordered: Floats, low: float, high: float) -> tuple[int, ...]:
    """How many of the sorted values lie in equal steps from low to high; those beyond count at the ends."""
    if not low < high:
        return (len(ordered),)
    edges = low + (high - low) * (np.arange(1, N_BARS) / N_BARS)
    cuts = np.searchsorted(ordered, edges, side="right")
    return tuple(np.diff(np.concatenate([[0], cuts, [len(ordered)]])).tolist())


def _number(value: float) -> str:
    return f"{value:.6g}" if abs(value) < 1e15 and value != int(value) else f"{value:.15g}"
