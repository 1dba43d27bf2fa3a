"""Parquet files, one or a folder of them, whole or part by part: a part is a run of row groups.

`pyarrow.dataset` would read whole row groups ahead; read page by page, memory is bounded however large they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soel.errors import SchemaError
from soel.tables.arrow import pa, pc, pq
from soel.tables.limits import Budget, check_distinct, decoded_bytes, reading, too_large
from soel.tables.location import BLOCK_ROWS, PART_ROWS, DataPart, Location, is_address
from soel.tables.raw_table import Layout
from soel.tables.read_options import DEFAULT, ReadOptions

PIECE_BYTES = 1 << 28  # of text that is written out at once
DEEPEST = 20  # records in records
_BUFFER_BYTES = 1 << 18  # per column: a row group is read page by page, however large it is
_NOTES = b"soel.notes"
_ADVICE = "Write it again as Parquet, or take it away"


@dataclass(frozen=True)
class ParquetFiles:
    """Files with the same columns, in the order of their names, as a format of parts."""

    place: Location
    columns: tuple[str, ...]
    parts: tuple[DataPart, ...]
    notes: tuple[str, ...] = ()

    def batches(self, part: DataPart, budget: Budget | None = None) -> Iterator[Any]:
        """The rows of a part as Arrow tables; they are counted before their text is written out."""
        groups = list(range(part.start, part.stop))
        with reading(part.file, _ADVICE):
            with _open_file(self.place, part.file) as plain:
                schema, leaves = plain.schema_arrow, [plain.schema.column(at) for at in range(len(plain.schema))]
            # text is read as dictionaries, since a page can repeat long words
            texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            with _open_file(self.place, part.file, texts) as file:
                for batch in file.iter_batches(BLOCK_ROWS, row_groups=groups):
                    if budget is not None:
                        budget.take(decoded_bytes(batch))
                    for piece in _pieces(batch):
                        table = pa.Table.from_batches([_written_out(piece, schema)])
                        table.validate(full=True)  # the reader does not look whether text is UTF-8
                        yield flatten(table).select(list(self.columns))


def open_parquet(place: Location, files: Sequence[str]) -> ParquetFiles:
    """Look at the footers of the files."""
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: list[DataPart] = []
    n_rows = 0
    for name in files:
        with reading(name, _ADVICE), _open_file(place, name) as file:
            footer, schema = file.metadata, file.schema_arrow
            sizes = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
            names = tuple(flatten(schema.empty_table()).column_names)
            notes = notes or tuple(map(str, json.loads((schema.metadata or {}).get(_NOTES, b"[]"))))
        check_distinct(name, names)
        if columns and set(names) != set(columns):
            odd = ", ".join(map(repr, sorted(set(names) ^ set(columns))[:5]))
            raise SchemaError(f"{name} has other columns than the files before it ({odd}). Write all files alike.")
        columns = columns or names
        for start, stop in _runs(sizes):
            parts.append(DataPart(len(parts), name, n_rows, sum(sizes[start:stop]), start, stop))
            n_rows += parts[-1].n_rows
    return ParquetFiles(place, columns, tuple(parts), notes)


def read_parquet(path: Path, options: ReadOptions = DEFAULT) -> tuple[Any, Layout]:
    """A Parquet file; its own types say how columns are meant."""
    file = open_parquet(Location(str(path.absolute().parent)), [path.name])
    if 8 * sum(part.n_rows for part in file.parts) * len(file.columns) > options.max_unpacked:  # as float64
        raise too_large(path.name, options.max_unpacked)
    budget = Budget(path.name, options.max_unpacked)
    tables = [table for part in file.parts for table in file.batches(part, budget)]
    whole = pa.concat_tables(tables) if tables else pa.table({name: pa.nulls(0) for name in file.columns})
    return whole, Layout("parquet", notes=file.notes)


def with_notes(table: Any, notes: Sequence[str]) -> Any:
    """A table that is to be written as Parquet, with what was said of the file that it came from."""
    return table.replace_schema_metadata({_NOTES: json.dumps(list(notes)).encode()})


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


def _open_file(place: Location, name: str, texts: Sequence[str] = ()) -> Any:
    """A file; one that lies elsewhere is read a row group at a time, since each request takes long."""
    return pq.ParquetFile(
        place.for_arrow(name),
        buffer_size=_BUFFER_BYTES,
        pre_buffer=is_address(place.root),
        page_checksum_verification=True,
        read_dictionary=list(texts),
    )


def _written_out(batch: Any, schema: Any) -> Any:
    """A batch with the types of its schema: text as text."""
    pairs = zip(batch.columns, schema.types, strict=True)
    return pa.RecordBatch.from_arrays([column.cast(kind) for column, kind in pairs], schema=schema)


def _pieces(batch: Any) -> Iterator[Any]:
    """A batch in pieces that take at most PIECE_BYTES each once their text is written out, or in single rows."""
    n_pieces = min(len(batch), -(-decoded_bytes(batch) // PIECE_BYTES)) or 1
    size = max(1, -(-len(batch) // n_pieces))
    for start in range(0, len(batch), size):
        yield batch.slice(start, size)


def _runs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of row groups that hold about PART_ROWS rows each; groups without rows come along."""
    runs, start, n_rows = [], 0, 0
    for group, size in enumerate(sizes, start=1):
        n_rows += size
        if n_rows >= PART_ROWS or (group == len(sizes) and n_rows):
            runs.append((start, group))
            start, n_rows = group, 0
    return runs
