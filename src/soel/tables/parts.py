"""Formats that are read part by part: Parquet, one file or a folder, by runs of row groups; .npy by ranges of rows.

`pyarrow.dataset` would read whole row groups ahead; read page by page, memory is bounded however large they are. Arrays
of .npy and .npz files are read without running what a file says or believing what it claims to hold.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError, SchemaError
from soel.tables.address import Location, is_address
from soel.tables.arrow import decoded_bytes, flatten, pa, pq
from soel.tables.limits import Budget, check_distinct, reading, reason, too_large
from soel.tables.raw_table import Layout
from soel.tables.read_options import DEFAULT, ReadOptions

PART_ROWS = 262_144  # a part ends with the row group or block that reaches this
BLOCK_ROWS = 32_768  # what is in memory at once
PIECE_BYTES = 1 << 28  # of text that is written out at once
_BUFFER_BYTES = 1 << 18  # per column: a row group is read page by page, however large it is
_NOTES = b"soel.notes"
_AGAIN = "Write it again as Parquet, or take it away"
_PLAIN = "Save a plain 2D array with np.save or np.savez."

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class DataPart:
    """A run of rows of one file, which can be read without the others: the unit of resuming and of sharding.

    number: its place in the stream. first_row: the number in the stream of its first row. start, stop: where it lies
    in the file, in the unit of the format: row groups, bytes or rows. turn: which of the formats of a chain has it.
    """

    number: int
    file: str
    first_row: int
    n_rows: int
    start: int
    stop: int
    turn: int = 0


class Format(Protocol):
    """How files of one kind are cut into parts and read. It can be sent to another process."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order."""

    @property
    def parts(self) -> tuple[DataPart, ...]:
        """All parts, in order."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out about the files, in words."""

    def batches(self, part: DataPart) -> Iterator[Any]:
        """The rows of a part in order, at most BLOCK_ROWS at once: Arrow tables, or arrays (n, d)."""


def column_of(batch: Any, name: str) -> Any:
    """One column of a batch as an Arrow array."""
    if isinstance(batch, np.ndarray):
        return pa.array(batch[:, int(name.removeprefix("x"))])
    return batch.column(name).combine_chunks()


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
        with reading(part.file, _AGAIN):
            with _open_file(self.place, part.file) as plain:
                schema, leaves = plain.schema_arrow, [plain.schema.column(at) for at in range(len(plain.schema))]
            # text is read as dictionaries, since a page can repeat long words
            texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            with _open_file(self.place, part.file, texts) as file:
                for batch in file.iter_batches(BLOCK_ROWS, row_groups=groups):
                    if budget is not None:
                        budget.take(decoded_bytes(batch))
                    for piece in _pieces(batch):
                        table = pa.Table.from_batches([piece]).cast(schema)  # text as text
                        table.validate(full=True)  # the reader does not look whether text is UTF-8
                        yield flatten(table).select(list(self.columns))


def open_parquet(place: Location, files: Sequence[str]) -> ParquetFiles:
    """Look at the footers of the files."""
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: list[DataPart] = []
    n_rows = 0
    for name in files:
        with reading(name, _AGAIN), _open_file(place, name) as file:
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


def _open_file(place: Location, name: str, texts: Sequence[str] = ()) -> Any:
    """A file; one that lies elsewhere is read a row group at a time, since each request takes long."""
    return pq.ParquetFile(
        place.for_arrow(name),
        buffer_size=_BUFFER_BYTES,
        pre_buffer=is_address(place.root),
        page_checksum_verification=True,
        read_dictionary=list(texts),
    )


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


@dataclass(frozen=True)
class NpyFile:
    """An array (n_rows, d) in a file as a format of parts, each a range of rows that is read where it lies.

    offset: where its values begin. by_column: whether columns lie one by one.
    """

    place: Location
    file: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    by_column: bool
    offset: int
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of an array have no names: x0, x1, ..."""
        return tuple(f"x{position}" for position in range(self.shape[1]))

    @property
    def parts(self) -> tuple[DataPart, ...]:
        n_rows, parts = self.shape[0], list[DataPart]()
        for start in range(0, n_rows, PART_ROWS):
            stop = min(start + PART_ROWS, n_rows)
            parts.append(DataPart(len(parts), self.file, start, stop - start, start, stop))
        return tuple(parts)

    def batches(self, part: DataPart) -> Iterator[NDArray[Any]]:
        for start in range(part.start, part.stop, BLOCK_ROWS):
            yield self.read(start, min(start + BLOCK_ROWS, part.stop))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Some consecutive rows (stop - start, d)."""
        (n_rows, width), n = self.shape, stop - start
        with self.place.open(self.file) as file:
            if self.by_column and width:
                return np.stack([self._values(file, at * n_rows + start, n) for at in range(width)], axis=1)
            return self._values(file, start * width, n * width).reshape(n, width)

    def _values(self, file: BinaryIO, first: int, count: int) -> NDArray[Any]:
        file.seek(self.offset + first * self.dtype.itemsize)
        content = file.read(count * self.dtype.itemsize)
        if len(content) < count * self.dtype.itemsize:
            raise DataError(f"{self.file} ends before its last row: it was cut off. Write it again.")
        return np.frombuffer(content, self.dtype)


def open_npy(place: Location, name: str) -> NpyFile:
    """Look at the header of the file. What it claims is compared with the size of the file."""
    try:
        with place.open(name) as file:
            shape, by_column, dtype = _header(file)
            offset = file.tell()
        _check_size(name, shape, dtype, place.size(name) - offset)
    except DataError:
        raise
    except Exception as error:  # a damaged header raises errors of many kinds, down to the tokenizer's
        raise _unreadable(name, error) from error
    if len(shape) != 2:
        raise DataError(f"{name} holds an array of shape {shape} and type {dtype}. {_PLAIN}")
    return NpyFile(place, name, shape, dtype, by_column, offset)


def read_npy(path: Path, wanted: Collection[str] = (), options: ReadOptions = DEFAULT) -> tuple[NDArray[Any], Arrays]:
    """The array of a .npy file; nothing stands beside it."""
    file = open_npy(Location(str(path.absolute().parent)), path.name)
    return file.read(0, file.shape[0]), {}


def read_npz(path: Path, wanted: Collection[str] = (), options: ReadOptions = DEFAULT) -> tuple[NDArray[Any], Arrays]:
    """The array X of a .npz file, or its only array, and the arrays of the same length that are wanted.

    An array that is not wanted is not unpacked; one that would be larger than the limit is refused before it is.
    """
    try:
        names = beside_names(path)
        features = "X" if "X" in names or len(names) != 1 else names[0]
        if features not in names:
            listed = ", ".join(names) or "none"
            raise DataError(f"{path.name} has no array called X (its arrays: {listed}). Save the features as X.")
        with zipfile.ZipFile(path) as archive:
            shapes = {name: _check_member(path, archive, name, options) for name in {features, *wanted} & set(names)}
        with np.load(path, allow_pickle=False) as arrays:
            matrix = np.asarray(arrays[features])
            beside = {name: np.asarray(arrays[name]) for name in wanted if shapes.get(name) == matrix.shape[:1]}
    except DataError:
        raise
    except Exception as error:
        raise _unreadable(path.name, error) from error
    return matrix, beside


def beside_names(path: Path) -> list[str]:
    """The names of the arrays of a .npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise _unreadable(path.name, error) from error


def _check_member(path: Path, archive: zipfile.ZipFile, name: str, options: ReadOptions) -> tuple[int, ...]:
    """The shape of an array in an archive, once its size is known to be honest and within the limit."""
    member = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
    size = archive.getinfo(member).file_size
    with archive.open(member) as file:
        shape, _, dtype = _header(file)
        _check_size(path.name, shape, dtype, size - file.tell())
    size = max(size, 8 * prod(shape))  # as float64
    if size > options.max_unpacked:
        raise DataError(
            f"{path.name} has an array {name!r} of {size:,} bytes when it is unpacked. Save it as .npy, or raise the "
            "limit with <<max-unpacked>>."
        )
    return shape


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


def _check_size(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], n_bytes: int) -> None:
    if dtype.hasobject:
        raise _unreadable(name, ValueError("it holds Python objects (allow_pickle=False)"))
    if not dtype.itemsize or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > n_bytes:
        raise _unreadable(name, ValueError(f"it claims the shape {shape} of {dtype} and has {n_bytes:,} bytes"))


def _unreadable(name: str, error: Exception) -> DataError:
    return DataError(f"{name} cannot be read as an array of numbers: {reason(error)}. {_PLAIN}")
