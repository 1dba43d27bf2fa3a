"""Parquet, one file or a folder of them: a part is a run of row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from soel.errors import DataError, SchemaError
from soel.tables.address import LocalPlace, Place
from soel.tables.arrow_files import check_distinct, text_leaves, written_out
from soel.tables.batches import BLOCK_ROWS, PART_ROWS, Part
from soel.tables.budget import decoded_bytes
from soel.tables.faults import FAULTS, reason
from soel.tables.nested import flat_names, flatten

_BUFFER_BYTES = 1 << 18  # per column: a row group is read page by page, however large it is
PIECE_BYTES = 1 << 28


@dataclass(frozen=True)
class ParquetParts:
    """Files with the same columns, in the order of their names."""

    place: Place
    columns: tuple[str, ...]
    parts: tuple[Part, ...]

    def batches(self, part: Part) -> Iterator[Any]:
        """The rows of a part as Arrow tables."""
        table = import_module("pyarrow").Table
        groups = list(range(part.start, part.stop))
        try:
            with _open_file(self.place, part.file) as plain:
                schema, texts = plain.schema_arrow, text_leaves(plain)
            with _open_file(self.place, part.file, texts) as file:
                for batch in file.iter_batches(BLOCK_ROWS, row_groups=groups):
                    for piece in _pieces(batch):
                        yield flatten(table.from_batches([written_out(piece, schema)])).select(list(self.columns))
        except FAULTS as error:
            raise _unreadable(part.file, error) from error


def open_parquet(place: Place, files: list[str]) -> ParquetParts:
    """Look at the footers of the files."""
    columns: tuple[str, ...] = ()
    parts: list[Part] = []
    n_rows = 0
    for name in files:
        names, sizes = _footer(place, name)
        columns = _same(columns, names, name)
        for start, stop in _runs(sizes):
            parts.append(Part(len(parts), name, n_rows, sum(sizes[start:stop]), start, stop))
            n_rows += parts[-1].n_rows
    return ParquetParts(place, columns, tuple(parts))


def _footer(place: Place, name: str) -> tuple[tuple[str, ...], list[int]]:
    """The columns of a file, and the rows of each row group."""
    try:
        with _open_file(place, name) as file:
            groups = range(file.metadata.num_row_groups)
            return tuple(flat_names(file.schema_arrow)), [file.metadata.row_group(group).num_rows for group in groups]
    except FAULTS as error:
        raise _unreadable(name, error) from error


def _pieces(batch: Any) -> Iterator[Any]:
    """A batch in pieces that take at most PIECE_BYTES each once their text is written out, or in single rows."""
    n_pieces = min(len(batch), -(-decoded_bytes(batch) // PIECE_BYTES)) or 1
    size = -(-len(batch) // n_pieces)
    for start in range(0, len(batch), max(size, 1)):
        yield batch.slice(start, size)


def _open_file(place: Place, name: str, texts: Sequence[str] = ()) -> Any:
    """A file; one that lies elsewhere is read a row group at a time, since each request takes long."""
    return import_module("pyarrow.parquet").ParquetFile(
        place.for_arrow(name),
        buffer_size=_BUFFER_BYTES,
        pre_buffer=not isinstance(place, LocalPlace),
        page_checksum_verification=True,
        read_dictionary=list(texts),
    )


def _runs(sizes: list[int]) -> list[tuple[int, int]]:
    """Runs of row groups that hold about PART_ROWS rows each; groups without rows come along."""
    runs, start, n_rows = [], 0, 0
    for group, size in enumerate(sizes, start=1):
        n_rows += size
        if n_rows >= PART_ROWS or (group == len(sizes) and n_rows):
            runs.append((start, group))
            start, n_rows = group, 0
    return runs


def _same(known: tuple[str, ...], names: tuple[str, ...], file: str) -> tuple[str, ...]:
    check_distinct(file, names)
    if known and set(names) != set(known):
        odd = ", ".join(map(repr, sorted(set(names) ^ set(known))[:5]))
        raise SchemaError(f"{file} has other columns than the files before it ({odd}). Write all files alike.")
    return known or names


def _unreadable(name: str, error: Exception) -> DataError:
    return DataError(f"{name} cannot be read as Parquet: {reason(error)}. Write this file again, or take it away.")
