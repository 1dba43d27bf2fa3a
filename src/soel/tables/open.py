"""A file of items, one row each, read as a frame with an id per row."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError, SchemaError, naming
from soel.tables.address import Location, is_address
from soel.tables.arrow import flatten, give_back, pq
from soel.tables.column import Column, as_objects
from soel.tables.csv import csv_names, read_csv
from soel.tables.formats import PACKABLE, READERS, read_address
from soel.tables.frame import Frame, frame_by, frame_from, without_extras
from soel.tables.ids import Ids, check_ids, content_ids, find_repeats
from soel.tables.kinds import kind_of
from soel.tables.kinds.number import Number
from soel.tables.limits import check_header, check_known, enough_memory
from soel.tables.parts import beside_names, open_parquet, read_npy, read_npz, read_parquet, with_notes
from soel.tables.raw_table import Layout, RawTable, raw_from, raw_from_arrow
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.schema import Schema
from soel.tables.text_files import PACKED, inner_suffix, is_packed

_NATIVE_READERS = {".csv": read_csv, ".tsv": read_csv, ".txt": read_csv, ".parquet": read_parquet}
_ARROW_READERS = {**_NATIVE_READERS, **READERS}
_ARRAY_READERS = {".npy": read_npy, ".npz": read_npz}
SUFFIXES = (*_ARROW_READERS, *_ARRAY_READERS, *(f".csv{packed}" for packed in PACKED))


@dataclass(frozen=True)
class Table:
    """The features and ids (N,) of a file. fingerprint: sha256 of its bytes. source: its name.

    excluded: the columns that are no features, as they were written, in row order. cells: all columns of the file as
    they were written, where they were asked for.
    """

    frame: Frame
    ids: Ids
    fingerprint: str
    source: str
    excluded: Mapping[str, NDArray[np.object_]]
    cells: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)


def read_table(
    path: str | Path,
    id_column: str | None = None,
    exclude: Collection[str] = (),
    options: ReadOptions = DEFAULT,
    schema: Schema | None = None,
    drop_duplicates: bool | None = None,
    with_cells: bool = False,
) -> Table:
    """Read a table from a file. The id column and the excluded columns are no features.

    Without an id column, a row's id is made from its features. In a .npz file, an array of the same length
    beside X serves as id column or excluded column. schema: that of the pool, for new rows; without one, it is
    decided by the cells and the options. drop_duplicates: as the options say where it is None. with_cells: keep all
    columns as they are written, too.
    """
    path = Path(path)
    aside = dict.fromkeys([*([id_column] if id_column else []), *exclude])
    with naming(path.name), enough_memory(path.name):
        raw, columns = read_raw(path, aside, options)
        frame = frame_from(raw, options) if schema is None else frame_by(without_extras(raw, schema), schema)
        cells = _collect_cells(raw, frame) | columns if with_cells else {}
        n_cells = raw.n_rows * len(raw.cells)
        del raw
        give_back(n_cells)
        if options.drop_duplicates if drop_duplicates is None else drop_duplicates:
            kept = ~find_repeats(frame)
            frame = _leave_out(frame, ~kept)
            columns, cells = ({name: column[kept] for name, column in each.items()} for each in (columns, cells))
        ids = check_ids(id_column, columns[id_column].tolist()) if id_column else content_ids(frame)
    excluded = {name: columns[name] for name in exclude}
    return Table(frame, ids, _fingerprint(path), path.name, excluded, cells)


def read_raw(data: str | Path, aside: Collection[str], options: ReadOptions) -> tuple[RawTable, dict[str, Any]]:
    """The columns of a file or of what a database gives as they are, and those set aside."""
    if not is_address(data):
        _check_file(Path(data))
        if inner_suffix(Path(data)) in _ARRAY_READERS:
            return _from_arrays(Path(data), aside, options)
    opened = [*open_arrow(data, options)]  # a list, so that the table can be let go
    check_known(Path(data).name, aside, opened[0].column_names)
    columns = {name: as_objects(opened[0].column(name).to_pylist()) for name in aside}
    layout = opened.pop()
    return raw_from_arrow(opened.pop().drop_columns(list(aside)), layout), columns


def open_arrow(data: str | Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A file of columns with names, or what a database gives, as an Arrow table with its cells as they are."""
    if is_address(data):
        return read_address(str(data), options)
    path = Path(data)
    with enough_memory(path.name):
        table, layout = _ARROW_READERS[inner_suffix(path)](path, options)
        if layout.format != "csv":
            table = flatten(table)
            check_header(path.name, list(table.column_names))
    return table, layout


def has_table_suffix(path: Path) -> bool:
    """Whether a file is called like a table."""
    return path.name.lower().endswith(SUFFIXES)


def is_native(path: Path) -> bool:
    """Whether a file can be kept and read in parts as it is; others are copied as Parquet first."""
    return path.suffix.lower() in (*_NATIVE_READERS, *_ARRAY_READERS)


def column_names(path: Path) -> list[str]:
    """The names in the head of a file; none where all of it has to be read to find them."""
    if path.suffix.lower() == ".parquet":
        return list(open_parquet(Location(str(path.absolute().parent)), [path.name]).columns)
    return csv_names(path) if path.suffix.lower() in _NATIVE_READERS else []


def copy_as_parquet(data: str | Path, folder: Path, options: ReadOptions) -> Path:
    """Copy a table of any kind, or what a database gives, as a Parquet file with the cells as they are."""
    if not is_address(data):
        _check_file(Path(data))
    table, layout = open_arrow(data, options)
    name = "query" if is_address(data) else Path(data).name
    copy = folder / f"{name}.parquet"
    pq.write_table(with_notes(table, layout.notes), copy)
    return copy


def _from_arrays(path: Path, aside: Collection[str], options: ReadOptions) -> tuple[RawTable, dict[str, Any]]:
    matrix, beside = _ARRAY_READERS[path.suffix.lower()](path, aside, options)
    raw = raw_from(matrix)
    known = beside_names(path) if path.suffix.lower() == ".npz" else []
    unequal = [name for name in aside if name in known and name not in (*beside, *raw.cells)]
    if unequal:
        raise SchemaError(f"The array {unequal[0]!r} of {path.name} has not one value per row. Choose another.")
    check_known(path.name, aside, [*beside, *raw.cells])
    inside = {name: raw.cells[name].as_words() for name in aside if name not in beside}
    columns = inside | {name: as_objects(beside[name].tolist()) for name in aside if name in beside}
    return raw.without(list(inside)), columns


def _collect_cells(raw: RawTable, frame: Frame) -> dict[str, NDArray[np.object_]]:
    """All columns as they are written; numbers as numbers, where they are written as computers do."""
    columns, by_name = {}, None if frame.schema is None else frame.schema.by_name
    for name, cells in raw.cells.items():
        column = Column(name, Number.name) if by_name is None else by_name.get(name)
        if column is not None and column.form.missing:  # a code is shown as it is written
            column = replace(column, form=replace(column.form, missing=()))
        if column is not None and kind_of(column).is_as_stored(column):
            numbers = kind_of(column).parse(column, cells).tolist()
            whole = [int(value) if value.is_integer() else value for value in numbers]
            columns[name] = as_objects([None if value != value else value for value in whole])
        else:
            columns[name] = cells.as_words()
    return columns


def _leave_out(frame: Frame, repeated: NDArray[np.bool_]) -> Frame:
    """The frame less repeated rows, which its schema says."""
    schema = frame.schema and replace(frame.schema, n_duplicates=int(repeated.sum()), drop_duplicates=True)
    return replace(frame.take(~repeated), schema=schema)


def _check_file(path: Path) -> None:
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}. Give the path of a table: {', '.join(SUFFIXES)}.")
    if not path.stat().st_size:
        raise DataError(f"{path.name} is empty. Give a file with one row per item.")
    suffix = inner_suffix(path)
    if suffix not in (*_ARROW_READERS, *_ARRAY_READERS) or (is_packed(path) and suffix not in PACKABLE):
        raise DataError(
            f"{path.name} has the suffix {suffix!r}, which says no known format. Use {', '.join(SUFFIXES)}."
        )


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
