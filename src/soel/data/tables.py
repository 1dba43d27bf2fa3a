"""A file of items, one row each, read as a frame with an id per row."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.data.array_files import read_npy, read_npz
from soel.data.arrow_files import csv_names, parquet_names, read_csv, read_parquet
from soel.data.frame import Frame, Raw, frame_by, frame_from, raw_from, raw_from_arrow
from soel.data.reading.kinds import TableReading
from soel.data.reading.options import DEFAULT, ReadOptions
from soel.data.reading.parse import as_objects
from soel.data.row_ids import Ids, content_ids, given_ids
from soel.errors import DataError, SchemaError

_ARROW_READERS = {".csv": read_csv, ".tsv": read_csv, ".txt": read_csv, ".parquet": read_parquet}
_ARRAY_READERS = {".npy": read_npy, ".npz": read_npz}
SUFFIXES = (*_ARROW_READERS, *_ARRAY_READERS)


@dataclass(frozen=True)
class Table:
    """The features and ids (N,) of a file. fingerprint: sha256 of its bytes. source: its name.

    excluded: the columns that are no features, as they were written, in row order.
    """

    frame: Frame
    ids: Ids
    fingerprint: str
    source: str
    excluded: Mapping[str, NDArray[np.object_]]


def read_table(
    path: str | Path,
    id_column: str | None = None,
    exclude: Collection[str] = (),
    options: ReadOptions = DEFAULT,
    reading: TableReading | None = None,
) -> Table:
    """Read a CSV, Parquet, .npz or .npy file. The id column and the excluded columns are no features.

    Without an id column, a row's id is made from its features. In a .npz file, an array of the same length
    beside X serves as id column or excluded column. reading: that of the pool, for new rows; without one, it is
    decided by the cells and the options.
    """
    path = Path(path)
    _check_file(path)
    aside = dict.fromkeys([*([id_column] if id_column else []), *exclude])
    raw, columns = _read_raw(path, aside, options)
    frame = frame_from(raw, options) if reading is None else frame_by(raw, reading)
    ids = given_ids(id_column, columns[id_column].tolist()) if id_column else content_ids(frame)
    excluded = {name: columns[name] for name in exclude}
    return Table(frame, ids, _fingerprint(path), path.name, excluded)


def _read_raw(path: Path, aside: Collection[str], options: ReadOptions) -> tuple[Raw, dict[str, Any]]:
    """The columns as they are, and those set aside."""
    suffix = path.suffix.lower()
    if suffix not in _ARRAY_READERS:
        table, layout = _ARROW_READERS[suffix](path, options)
        _check_known(path, aside, table.column_names)
        columns = {name: _objects(table.column(name).to_pylist()) for name in aside}
        return raw_from_arrow(table.drop_columns(list(aside)) if aside else table, layout), columns
    matrix, beside = _ARRAY_READERS[suffix](path)
    raw = raw_from(matrix)
    _check_known(path, aside, [*beside, *raw.cells])
    inside = {name: as_objects(raw.cells[name]) for name in aside if name not in beside}
    columns = inside | {name: _objects(beside[name].tolist()) for name in aside if name in beside}
    return raw.without(list(inside)), columns


def column_names(path: Path) -> list[str]:
    """The names in the head of a file; none for arrays, whose columns are found when they are read."""
    suffix = path.suffix.lower()
    if suffix in _ARRAY_READERS:
        return []
    return parquet_names(path) if suffix == ".parquet" else csv_names(path)


def _check_file(path: Path) -> None:
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}. Give the path of a table: {', '.join(SUFFIXES)}.")
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"{path.name} has the suffix {path.suffix!r}, which says no known format. Use {', '.join(SUFFIXES)}."
        )
    if not path.stat().st_size:
        raise DataError(f"{path.name} is empty. Give a file with one row per item.")


def _check_known(path: Path, wanted: Collection[str], names: list[str]) -> None:
    unknown = [name for name in wanted if name not in names]
    if unknown:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise SchemaError(
            f"{path.name} has no column {', '.join(map(repr, unknown))}. Choose among its columns: {shown}."
        )


def _objects(cells: list[Any]) -> NDArray[np.object_]:
    column = np.empty(len(cells), object)
    column[:] = cells
    return column


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
