"""Arrow, imported when something of it is first used, and what is done with its tables whatever they hold."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

MUCH = 1 << 18  # cells
DEEPEST = 20  # records in records
_SPACES = "\u00a0\u2007\u2009\u202f"


class _Lazy:
    """A module that is imported when something of it is first used: commands that read no table start without it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pa, pc, pq, pa_csv = map(_Lazy, ("pyarrow", "pyarrow.compute", "pyarrow.parquet", "pyarrow.csv"))


def tidy(texts: Any) -> Any:
    """Arrow strings without blanks around them, with one kind of minus, of apostrophe and of space."""
    texts = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        texts = pc.replace_substring_regex(texts, "[−﹣－]", "-")  # noqa: RUF001
        texts = pc.replace_substring_regex(texts, f"[{_SPACES}]", " ")
        texts = pc.replace_substring_regex(texts, "[’´`]", "'")  # noqa: RUF001
    return texts


def is_all(texts: Any, pattern: str) -> bool:
    """Whether all texts that are not null match; true of none."""
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def is_any(texts: Any, pattern: str) -> bool:
    """Whether some text matches."""
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def as_mask(flags: Any) -> NDArray[np.bool_]:
    """Arrow's booleans as an array (N,); null is false."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), bool)


def nulls_where(flags: Any, texts: Any) -> Any:
    """Arrow strings with null in the rows that a mask names."""
    return pc.if_else(flags, pa.scalar(None, texts.type), texts)


def flatten(table: Any) -> Any:
    """An Arrow table without records: {"order": {"sum": 5}} is a column 'order.sum'. A list of words is 'a, b'."""
    kinds = pa.types
    for _ in range(DEEPEST):
        if not any(kinds.is_struct(kind) for kind in table.schema.types):
            break
        table = table.flatten()
    joined = (kinds.is_string, kinds.is_integer, kinds.is_floating, kinds.is_null)
    for at, kind in enumerate(table.schema.types):
        if kinds.is_list(kind) and any(is_of(kind.value_type) for is_of in joined):
            words = table.column(at).cast(pa.list_(pa.string()))
            table = table.set_column(at, table.column_names[at], pc.binary_join(words, ", "))
    return table


def decoded_bytes(data: Any) -> int:
    """The bytes that an Arrow array or batch takes once its dictionaries are written out."""
    if isinstance(data, pa.RecordBatch):
        return sum(map(decoded_bytes, data.columns))
    if isinstance(data, pa.StructArray):
        return sum(map(decoded_bytes, data.flatten()))
    if isinstance(data, pa.ListArray | pa.LargeListArray):
        return decoded_bytes(data.flatten()) + 8 * len(data)
    if not isinstance(data, pa.DictionaryArray):
        return int(data.nbytes)
    words = data.dictionary
    if not len(words):
        return 8 * len(data)
    if words.type not in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        return len(data) * int(max(8, -(-words.nbytes // len(words))))
    counts = pc.value_counts(data.indices.drop_null())
    lengths = pc.binary_length(words).take(counts.field("values")).cast(pa.int64())
    return 8 * len(data) + int(pc.sum(pc.multiply(lengths, counts.field("counts"))).as_py() or 0)


def give_back(n_cells: int, at: int = 0) -> None:
    """Hand what Arrow keeps for later use back to the machine, where that is much.

    n_cells: of a column. at: its number: of columns that are short, every so many are waited for.
    """
    if (at + 1) * n_cells // MUCH > at * n_cells // MUCH:
        pa.default_memory_pool().release_unused()
