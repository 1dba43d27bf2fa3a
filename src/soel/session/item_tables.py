"""The items of a session as tables: each copy that came with a pool is read, and its rows put where they belong."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from soel.errors import DamagedError, SchemaError
from soel.files import move, parse_json
from soel.session.config import SessionConfig
from soel.session.folder import ITEM_FILES, SessionFolder, digest_of, reading, write_items
from soel.settings import Profile
from soel.tables.column import Values, readable_time
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.tables.open import Table, read_table
from soel.tables.schema import Schema
from soel.types import Booleans, Kind

_MISSING = {"f": np.nan, "M": np.datetime64("NaT")}


def read_encoder(place: SessionFolder) -> Encoder:
    """How the session turns rows into features; it is read once."""
    if "encoder" not in place.kept:
        path = place.verify(place.encoder.name)
        with reading(path):
            place.kept["encoder"] = Encoder.from_json(parse_json(path.read_text(encoding="utf-8")))
    return cast("Encoder", place.kept["encoder"])


def read_items(place: SessionFolder, with_cells: bool = False) -> Table:
    """The table of all items of a pool, in their order; a copy that changed is refused.

    with_cells: with all columns as they are written.
    """
    schema = schema_of(place)
    if len(place.pools) == 1:
        return _read_part(place, schema, with_cells)
    return _join(place, {number: _read_part(part, schema, with_cells) for number, part in place.parts.items()})


def schema_of(place: SessionFolder) -> Schema | None:
    """How the columns of the session's table are read; None for a list of pictures."""
    return None if place.has_pictures else read_encoder(place).how


def read_encoder_with_baseline(place: SessionFolder, selected: Booleans | None = None) -> Encoder:
    """The same, with what the pool's columns hold; it is looked up in the tables of a session that has grown.

    selected: (N,), rows that joined the pool because of their scores: new rows are not compared with them.
    """
    encoder = read_encoder(place)
    is_table = Profile.from_json(place.config.settings).kind is Kind.TABLE
    has_grown = len(place.pools) > 1
    if not is_table or (encoder.baseline is not None and not has_grown):
        return encoder
    frame = read_items(place).frame
    return encoder.with_baseline(frame if selected is None else frame.take(np.flatnonzero(~selected)))


def read_rows_as(
    path: Path,
    config: SessionConfig,
    schema: Schema | None,
    with_cells: bool = False,
    drop_duplicates: bool | None = None,
) -> Table:
    """A table read as the session's own was; the label column may be among its columns or not.

    drop_duplicates: as with the session's own rows where it is None.
    """
    if drop_duplicates is None:
        drop_duplicates = schema is not None and schema.drop_duplicates
    read = partial(
        read_table, path, config.id_column, schema=schema, drop_duplicates=drop_duplicates, with_cells=with_cells
    )
    if config.label_column:
        try:
            return read([config.label_column])
        except SchemaError as error:
            if config.label_column not in str(error):
                raise
    return read(())


def _read_part(part: SessionFolder, schema: Schema | None, with_cells: bool) -> Table:
    """What came with one pool."""
    part.verify(part.source.name)
    table = read_rows_as(part.source, part.config, schema, with_cells)
    if len(part.pools) == 1 and table.fingerprint != part.config.fingerprint:
        raise DamagedError(f"{part.source} was changed after the session started; restore it from a copy.")
    return table


def _join(place: SessionFolder, tables: dict[int, Table]) -> Table:
    """Rows of several tables in the order of the items. Rows without ids of their own keep those they were given."""
    config, first = place.config, next(iter(tables.values()))
    names = dict.fromkeys(name for table in tables.values() for name in table.frame.columns)
    columns = {name: _gather(place, {n: t.frame.columns.get(name) for n, t in tables.items()}) for name in names}
    excluded = {}
    if config.label_column:
        label = config.label_column
        excluded[label] = _gather(place, {number: table.excluded.get(label) for number, table in tables.items()})
    ids = np.empty(place.n_items, object)
    ids[:] = place.ids
    if config.id_column is not None:
        ids = _gather(place, {number: table.ids for number, table in tables.items()})
    frame = Frame(columns, first.frame.named, first.frame.schema)
    written = dict.fromkeys(name for table in tables.values() for name in table.cells)
    cells = {name: _gather(place, {n: t.cells.get(name) for n, t in tables.items()}) for name in written}
    return Table(frame, ids, config.fingerprint, config.source, excluded, cells)


def _gather(place: SessionFolder, found: Mapping[int, Values | None]) -> Values:
    """One column of all items from those of the tables; rows of a table that lacks it are empty."""
    kinds = {column.dtype for column in found.values() if column is not None}
    kind = kinds.pop() if len(kinds) == 1 else np.dtype(object)
    column: Values = np.full(place.n_items, _MISSING.get(kind.kind), kind)
    for number, values in found.items():
        here = place.rows[:, 0] == number
        if values is not None:
            column[here] = values[place.rows[here, 1]]
    return column


def remake_items(place: SessionFolder, names: Collection[str]) -> list[str]:
    """Make ids and features of a pool again from its tables, where they are among the names of files in the session.

    Only what comes out as it was written takes its place; returns the names of these files.
    """
    lost = [place.home / name for name in ITEM_FILES if _name_in(place, place.home / name) in names]
    if not lost:
        return []
    digests = place.pools[-1].digests or place.config.digests
    with tempfile.TemporaryDirectory(prefix=".repair-", dir=place.path) as scratch:
        table = read_items(place)
        write_items(Path(scratch), table.ids.tolist(), read_encoder(place).encode(table.frame))
        same = [path for path in lost if digest_of(Path(scratch) / path.name) == digests[path.name]]
        for path in same:
            move(Path(scratch) / path.name, path)
    return [_name_in(place, path) for path in same]


def _name_in(place: SessionFolder, path: Path) -> str:
    """The name of a file in the session."""
    return path.relative_to(place.path).as_posix()


def readable_rows(place: SessionFolder, ids: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """The header and the readable values of these items, without the id and the label column."""
    frame, row_of = read_items(place).frame, {item: row for row, item in enumerate(place.ids)}
    columns = list(frame.columns.values())
    return list(frame.columns), [[_readable(column[row_of[item]]) for column in columns] for item in ids]


def _readable(value: Any) -> Any:
    """A cell as a person writes it: whole numbers without a point, nothing for a missing value."""
    if value is None or value != value:
        return ""
    if isinstance(value, np.datetime64):
        return readable_time(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
