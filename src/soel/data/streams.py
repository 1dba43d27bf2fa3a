"""Data larger than memory: read part by part, block by block, with types that are decided once.

A stream is a Parquet file, a folder of Parquet files, a CSV or a .npy file, by path or by fsspec address. It holds no
rows and can be sent to another process; parts can be read in any order and by anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from soel.data.csv_parts import open_csv
from soel.data.frame import Frame, as_frame
from soel.data.npy_parts import open_npy
from soel.data.parquet_parts import open_parquet
from soel.data.parts import Format, Part
from soel.data.places import Place, find_place, fingerprint_of, is_address
from soel.errors import DataError, SchemaError
from soel.validation import is_missing

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
SUFFIXES = (".parquet", *CSV_SUFFIXES, ".npy")


@dataclass(frozen=True)
class Block:
    """Some consecutive rows. first_row: the number of the first one in the stream. ids: an Arrow array of text (n,).

    aside: the columns that are no features, as Arrow arrays (n,).
    """

    first_row: int
    frame: Frame
    ids: Any
    aside: Mapping[str, Any]

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return self.frame.n_rows


@dataclass(frozen=True)
class Stream:
    """name: for people. address: where it lies. features: its columns but for those set aside.

    id_column: what names the rows; None takes their number in the stream, from 0 on. exclude: columns that are no
    features. categorical: columns that hold categories; all other features hold numbers.
    """

    name: str
    address: str
    place: Place
    format: Format
    id_column: str | None
    exclude: tuple[str, ...]
    categorical: tuple[str, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The units of resuming and of sharding, in order."""
        return self.format.parts

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are features, in order."""
        return tuple(name for name in self.format.columns if name not in self._aside)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(part.n_rows for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the files' names, sizes, first and last MiB."""
        return fingerprint_of(self.place, sorted({part.file for part in self.parts}))

    def blocks(self, part: Part) -> Iterator[Block]:
        """The rows of a part, in order."""
        first_row = part.first_row
        try:
            for batch in self.format.batches(part):
                if len(batch):
                    yield self._block(batch, first_row)
                    first_row += len(batch)
        except OSError as error:
            raise DataError(f"{part.file} cannot be read: {error.strerror or error}. Bring it back.") from error
        if first_row != part.first_row + part.n_rows:
            raise DataError(f"{part.file} has other rows than its header says. Write this file again.")

    @property
    def _aside(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*([self.id_column] if self.id_column else []), *self.exclude]))

    def _block(self, batch: Any, first_row: int) -> Block:
        aside = {name: _column(batch, name) for name in self._aside}
        try:
            frame = _frame(batch, self._aside, self.categorical)
            self._check(frame)
            ids = row_numbers(first_row, len(batch)) if self.id_column is None else _as_text(self.id_column, aside)
        except DataError as error:
            raise type(error)(f"In {self.name}, counted from row {first_row} on: {error}") from error
        return Block(first_row, frame, ids, aside)

    def _check(self, frame: Frame) -> None:
        for name, column in frame.columns.items():
            if column.dtype == object and name not in self.categorical:
                row, cell = next((row, cell) for row, cell in enumerate(column) if _is_word(cell))
                raise SchemaError(
                    f"Column {name!r} holds numbers in the first rows and text such as {cell!r} in row {row}. "
                    "Correct it, or give the column a type of text."
                )


def open_stream(
    data: str | Path, id_column: str | None = None, exclude: Sequence[str] = (), categorical: Collection[str] = ()
) -> Stream:
    """Look at the files, not at the rows; only the types of text columns are decided by the first block.

    Columns in `categorical` hold categories even if they look like numbers.
    """
    place, name = find_place(data)
    files = [name] if name else place.files(".parquet")
    if not files:
        raise DataError(f"{data} is a folder without a .parquet file. Give a table, or a folder of Parquet files.")
    aside = (*([id_column] if id_column else []), *exclude)
    form = _open(place, files, (*aside, *categorical))
    _check_known(str(data), aside, form.columns)
    address = str(data) if is_address(data) else str(Path(data).absolute())
    stream = Stream(Path(str(data)).name, address, place, form, id_column, tuple(exclude), tuple(categorical))
    if not stream.parts:
        raise DataError(f"{data} has no rows (0 sample(s)). Give a table with one row per item.")
    return _with_categories(stream)


def is_stream(data: str | Path) -> bool:
    """Whether data are of a form that can be read part by part."""
    if is_address(data):
        return True
    path = Path(data)
    if path.is_dir():
        return any(path.rglob("*.parquet"))
    return path.suffix.lower() in SUFFIXES


def _open(place: Place, files: list[str], as_text: Collection[str]) -> Format:
    suffix = Path(files[0]).suffix.lower()
    if suffix == ".parquet":
        return open_parquet(place, files)
    if suffix in CSV_SUFFIXES:
        return open_csv(place, files[0], as_text)
    if suffix == ".npy":
        return open_npy(place, files[0])
    raise DataError(
        f"{files[0]} has the suffix {suffix!r}, which cannot be read in parts. Use {', '.join(SUFFIXES)}, or a folder "
        "of Parquet files."
    )


def _with_categories(stream: Stream) -> Stream:
    """The stream with its text columns told apart: those that spell numbers throughout the first block are numbers."""
    batch = next(batch for batch in stream.format.batches(stream.parts[0]) if len(batch))
    frame = _frame(batch, stream._aside, stream.categorical)
    found = [name for name, column in frame.columns.items() if column.dtype == object or _is_blank_text(batch, name)]
    return replace(stream, categorical=tuple(dict.fromkeys([*stream.categorical, *found])))


def _frame(batch: Any, aside: Collection[str], categorical: Collection[str]) -> Frame:
    if isinstance(batch, np.ndarray):
        return as_frame(batch, categorical).without(aside)
    return as_frame(_decoded(batch.drop_columns(list(aside)), categorical), categorical)


def _decoded(table: Any, categorical: Collection[str]) -> Any:
    """The table with its dictionaries of categories spelled out, which is read many times faster."""
    kinds = import_module("pyarrow").types
    for at, field in enumerate(table.schema):
        if field.name in categorical and kinds.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
    return table


def _column(batch: Any, name: str) -> Any:
    arrow = import_module("pyarrow")
    if isinstance(batch, np.ndarray):
        return arrow.array(batch[:, int(name.removeprefix("x"))])
    return batch.column(name).combine_chunks()


def _is_blank_text(batch: Any, name: str) -> bool:
    """Whether a column of text says nothing in this block; a later one may hold any words."""
    if isinstance(batch, np.ndarray):
        return False
    column = batch.column(name)
    return bool(column.null_count == len(column)) and _is_text(column.type)


def _is_word(cell: str | None) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return True
    return False


def _is_text(kind: Any) -> bool:
    kinds = import_module("pyarrow").types
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


def row_numbers(first_row: int, n_rows: int) -> Any:
    """Row numbers as ids."""
    arrow = import_module("pyarrow")
    return arrow.array(np.arange(first_row, first_row + n_rows)).cast(arrow.string())


def _as_text(name: str, aside: Mapping[str, Any]) -> Any:
    """The ids that a column says, as `given_ids` reads them; that none comes twice is not looked at here."""
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    column = aside[name]
    if not (_is_text(column.type) or arrow.types.is_integer(column.type)):
        column = arrow.array([None if is_missing(cell) else str(cell) for cell in column.to_pylist()], arrow.string())
    ids = compute.utf8_trim_whitespace(column.cast(arrow.string()))
    empty = compute.fill_null(compute.equal(ids, ""), True)
    if compute.any(empty).as_py():
        row = compute.index(empty, True).as_py()
        raise DataError(f"The id column {name!r} is empty in row {row}. Give every row an id.")
    return ids


def _check_known(name: str, wanted: Collection[str], columns: Sequence[str]) -> None:
    unknown = [column for column in wanted if column not in columns]
    if unknown:
        shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
        raise SchemaError(f"{name} has no column {', '.join(map(repr, unknown))}. Choose among its columns: {shown}.")
