"""Parquet files, one or a folder of them, whole or part by part: a part is a run of row groups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soel.errors import DataError, SchemaError
from soel.tables.arrow import pa, pc, pq
from soel.tables.batches import BLOCK_ROWS, PART_ROWS, DataPart
from soel.tables.limits import FAULTS, Budget, check_distinct, decoded_bytes, not_a_table, reason, too_large
from soel.tables.location import Location
from soel.tables.raw_table import Layout
from soel.tables.read_options import DEFAULT, ReadOptions

PIECE_BYTES = 1 << 28  # of text that is written out at once
DEEPEST = 20  # records in records
_BUFFER_BYTES = 1 << 18  # per column: a row group is read page by page, however large it is
_NOTES = b"soel.notes"


@dataclass(frozen=True)
class ParquetFiles:
    """Files with the same columns, in the order of their names, as a format of parts."""

    place: Location
    columns: tuple[str, ...]
    parts: tuple[DataPart, ...]

    def batches(self, part: DataPart) -> Iterator[Any]:
        """The rows of a part as Arrow tables."""
        table, groups = pa.Table, list(range(part.start, part.stop))
        try:
            with _open_file(self.place, part.file) as plain:
                schema, texts = plain.schema_arrow, _text_leaves(plain)
            with _open_file(self.place, part.file, texts) as file:
                for batch in file.iter_batches(BLOCK_ROWS, row_groups=groups):
                    for piece in _pieces(batch):
                        yield flatten(table.from_batches([_written_out(piece, schema)])).select(list(self.columns))
        except FAULTS as error:
            raise _unreadable(part.file, error) from error


def open_parquet(place: Location, files: list[str]) -> ParquetFiles:
    """Look at the footers of the files."""
    columns: tuple[str, ...] = ()
    parts: list[DataPart] = []
    n_rows = 0
    for name in files:
        names, sizes = _footer(place, name)
        check_distinct(name, names)
        if columns and set(names) != set(columns):
            odd = ", ".join(map(repr, sorted(set(names) ^ set(columns))[:5]))
            raise SchemaError(f"{name} has other columns than the files before it ({odd}). Write all files alike.")
        columns = columns or names
        for start, stop in _runs(sizes):
            parts.append(DataPart(len(parts), name, n_rows, sum(sizes[start:stop]), start, stop))
            n_rows += parts[-1].n_rows
    return ParquetFiles(place, columns, tuple(parts))


def read_parquet(path: Path, options: ReadOptions = DEFAULT) -> tuple[Any, Layout]:
    """A Parquet file; its own types say how columns are meant. What it holds is counted before text is written out."""
    try:
        # Hive-style folder names must not become columns, so the file is opened as a file.
        with pq.ParquetFile(path) as file:
            schema, texts = file.schema_arrow, _text_leaves(file)
            if 8 * file.metadata.num_rows * file.metadata.num_columns > options.max_unpacked:  # as float64
                raise too_large(path.name, options.max_unpacked)
        budget, batches = Budget(path.name, options.max_unpacked), []
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches():
                budget.take(decoded_bytes(batch))
                batches.append(batch)
        table = pa.Table.from_batches([_written_out(batch, schema) for batch in batches], schema)
        table.validate(full=True)  # the reader does not look whether text is UTF-8
        notes = json.loads((schema.metadata or {}).get(_NOTES, b"[]"))
        return table, Layout("parquet", notes=tuple(map(str, notes)))
    except DataError:
        raise
    except FAULTS as error:
        raise not_a_table(path.name, error, "Write it again as Parquet") from error


def with_notes(table: Any, notes: Sequence[str]) -> Any:
    """A table that is to be written as Parquet, with what was said of the file that it came from."""
    return table.replace_schema_metadata({_NOTES: json.dumps(list(notes)).encode()})


def parquet_names(path: Path) -> list[str]:
    """The column names in the footer of a Parquet file."""
    return list(_footer(Location(str(path.absolute().parent)), path.name)[0])


def flatten(table: Any) -> Any:
    """An Arrow table without records: {"order": {"sum": 5}} is a column 'order.sum'. A list of words is 'a, b'."""
    kinds = pa.types
    for _ in range(DEEPEST):
        if not any(kinds.is_struct(kind) for kind in table.schema.types):
            break
        table = table.flatten()
    for at, kind in enumerate(table.schema.types):
        of = kind.value_type if kinds.is_list(kind) else None
        if of is not None and (
            kinds.is_string(of) or kinds.is_integer(of) or kinds.is_floating(of) or kinds.is_null(of)
        ):
            words = table.column(at).cast(pa.list_(pa.string()))
            joined = pc.binary_join(words, ", ")
            table = table.set_column(at, table.column_names[at], joined)
    return table


def _footer(place: Location, name: str) -> tuple[tuple[str, ...], list[int]]:
    """The columns of a file, and the rows of each row group."""
    try:
        with _open_file(place, name) as file:
            groups = range(file.metadata.num_row_groups)
            names = flatten(file.schema_arrow.empty_table()).column_names
            return tuple(names), [file.metadata.row_group(group).num_rows for group in groups]
    except FAULTS as error:
        raise _unreadable(name, error) from error


def _open_file(place: Location, name: str, texts: Sequence[str] = ()) -> Any:
    """A file; one that lies elsewhere is read a row group at a time, since each request takes long."""
    return pq.ParquetFile(
        place.for_arrow(name),
        buffer_size=_BUFFER_BYTES,
        pre_buffer=not place.is_local,
        page_checksum_verification=True,
        read_dictionary=list(texts),
    )


def _text_leaves(file: Any) -> list[str]:
    """The columns of a file that hold text, which are read as dictionaries: a page can repeat long words."""
    leaves = (file.schema.column(at) for at in range(len(file.schema)))
    return [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]


def _written_out(batch: Any, schema: Any) -> Any:
    """A batch with the types of its schema: text as text."""
    pairs = zip(batch.columns, schema.types, strict=True)
    columns = [column if column.type == kind else column.cast(kind) for column, kind in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _pieces(batch: Any) -> Iterator[Any]:
    """A batch in pieces that take at most PIECE_BYTES each once their text is written out, or in single rows."""
    n_pieces = min(len(batch), -(-decoded_bytes(batch) // PIECE_BYTES)) or 1
    size = max(1, -(-len(batch) // n_pieces))
    for start in range(0, len(batch), size):
        yield batch.slice(start, size)


def _runs(sizes: list[int]) -> list[tuple[int, int]]:
    """Runs of row groups that hold about PART_ROWS rows each; groups without rows come along."""
    runs, start, n_rows = [], 0, 0
    for group, size in enumerate(sizes, start=1):
        n_rows += size
        if n_rows >= PART_ROWS or (group == len(sizes) and n_rows):
            runs.append((start, group))
            start, n_rows = group, 0
    return runs


def _unreadable(name: str, error: Exception) -> DataError:
    return DataError(f"{name} cannot be read as Parquet: {reason(error)}. Write this file again, or take it away.")
