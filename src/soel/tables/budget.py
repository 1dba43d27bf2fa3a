"""How much a file may hold when it is read: counted as it goes, before memory is taken for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from soel.errors import DataError


class Budget:
    """Counts bytes, and refuses a file that has more of them than the limit."""

    def __init__(self, name: str, limit: int) -> None:
        self._name, self._limit, self._n_taken = name, limit, 0

    def take(self, n_bytes: int) -> None:
        """Count some more."""
        self._n_taken += n_bytes
        if self._n_taken > self._limit:
            raise too_large(self._name, self._limit)


def too_large(name: str, limit: int) -> DataError:
    """What to raise for a file beyond the limit."""
    return DataError(
        f"{name} has more than {limit:,} bytes when it is unpacked. Unpack it yourself, or raise the limit with "
        "<<max-unpacked>>."
    )


@contextmanager
def enough_memory(name: str) -> Iterator[None]:
    """Say what a file needs too much memory for."""
    try:
        yield
    except MemoryError as error:
        raise DataError(
            f"{name} takes more memory than there is. Give fewer rows or columns, or Parquet with more rows than the "
            "pool, which is read in parts."
        ) from error


def decoded_bytes(data: Any) -> int:
    """The bytes that an Arrow array or batch takes once its dictionaries are written out."""
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        return sum(map(decoded_bytes, data.columns))
    if isinstance(data, pa.DictionaryArray):
        return _dictionary_bytes(data)
    if isinstance(data, pa.StructArray):
        return sum(map(decoded_bytes, data.flatten()))
    if isinstance(data, pa.ListArray | pa.LargeListArray):
        return decoded_bytes(data.flatten()) + 8 * len(data)
    return int(data.nbytes)


def _dictionary_bytes(data: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    values, kinds = data.dictionary, pa.types
    if not len(values):
        return 8 * len(data)
    kind = values.type
    if not (
        kinds.is_string(kind) or kinds.is_binary(kind) or kinds.is_large_string(kind) or kinds.is_large_binary(kind)
    ):
        return len(data) * int(max(8, -(-values.nbytes // len(values))))
    counts = pc.value_counts(data.indices.drop_null())
    lengths = pc.binary_length(values).take(counts.field("values")).cast(pa.int64())
    total = pc.sum(pc.multiply(lengths, counts.field("counts"))).as_py()
    return 8 * len(data) + int(total or 0)
