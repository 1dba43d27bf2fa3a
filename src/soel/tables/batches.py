"""Data larger than memory: read part by part, block by block, with types that are decided once.

A stream is a Parquet file, a folder of Parquet files, a CSV or a .npy file, by path or by fsspec address. It holds no
rows and can be sent to another process; parts can be read in any order and by anybody. A uniform sample of its rows,
small enough to be a pool, depends on the seed and on the numbers of the rows alone, not on how the stream is cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from soel.checks import is_missing
from soel.errors import DataError, EmptyTableError, SchemaError
from soel.numeric import gumbel
from soel.tables.address import Location, is_address, locate
from soel.tables.arrow import pa, pc, pq
from soel.tables.column import Column
from soel.tables.csv import find_parts, open_csv
from soel.tables.frame import Frame, extra_columns, frame_by, note_on_extras
from soel.tables.kinds.categorical import Category
from soel.tables.limits import check_known
from soel.tables.parts import DataPart, Format, column_of, open_npy, open_parquet, with_notes
from soel.tables.raw_table import RawTable, raw_from, raw_from_arrow
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.schema import Schema, decide
from soel.types import Counted, Progress, Rows

DRAW = 1 << 32  # rounds number their draws from 0 on, so that no round uses the same noise
_KEYS_AT_ONCE = 1 << 20
CSV_SUFFIXES = (".csv", ".tsv", ".txt")
SUFFIXES = (".parquet", *CSV_SUFFIXES, ".npy")


@dataclass(frozen=True)
class RowBlock:
    """Some consecutive rows. first_row: the number of the first one in the stream. ids: an Arrow array of text (n,).

    aside: the columns that are no features, as Arrow arrays (n,).
    """

    first_row: int
    frame: Frame
    ids: Any
    aside: Mapping[str, Any]

    @property
    def n_rows(self) -> int:
        return self.frame.n_rows


@dataclass(frozen=True)
class Stream:
    """name: for people. address: where it lies.

    formats: how its files are read; a chain of streams has those of all of them, whose rows are numbered on.
    id_column: what names the rows; None takes their number in the stream, from 0 on. exclude: columns that are no
    features. options: what was said about columns. given: how the pool was read, None where it is to be found out.
    links: the streams that a chain joins.
    """

    name: str
    address: str
    place: Location
    formats: tuple[Format, ...]
    id_column: str | None
    exclude: tuple[str, ...]
    options: ReadOptions = DEFAULT
    given: Schema | None = None
    links: tuple[Stream, ...] = ()

    @cached_property
    def parts(self) -> tuple[DataPart, ...]:
        """The units of resuming and of sharding, in order."""
        parts: list[DataPart] = []
        n_rows = 0
        for turn, form in enumerate(self.formats):
            for part in form.parts:
                parts.append(replace(part, number=len(parts), first_row=n_rows + part.first_row, turn=turn))
            n_rows += sum(part.n_rows for part in form.parts)
        return tuple(parts)

    @property
    def all_columns(self) -> tuple[str, ...]:
        return self.formats[0].columns

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All of its columns, but those that the pool did not have."""
        return tuple(name for name in self.all_columns if name not in self._extras)

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self._aside)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out about the files, and left out of them."""
        extras = (note_on_extras(self._extras),) if self._extras else ()
        return tuple(dict.fromkeys([*(note for form in self.formats for note in form.notes), *extras]))

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the files' names, sizes, first and last MiB."""
        if self.links:
            return hashlib.sha256("".join(link.fingerprint for link in self.links).encode()).hexdigest()
        return self.place.fingerprint(sorted({part.file for part in self.parts}))

    @cached_property
    def schema(self) -> Schema:
        """How the columns are read: as given, else as the first block says."""
        if self.given is not None:
            return self.given
        raw = self._raw(next(batch for _, batch in self.batches(self.parts[0])))
        found = decide(raw, self.options)[0]
        return replace(found, columns=tuple(map(_may_hold_words, found.columns)))

    def blocks(self, part: DataPart) -> Iterator[RowBlock]:
        for first_row, batch in self.batches(part):
            with self._counted_from(first_row):
                frame = frame_by(self._raw(batch), self.schema)
            yield RowBlock(first_row, frame, *self.names_of(batch, first_row))

    def batches(self, part: DataPart) -> Iterator[tuple[int, Any]]:
        """The rows of a part as they lie in the file, each batch with the number of its first row."""
        first_row = part.first_row
        try:
            for batch in self.formats[part.turn].batches(part):
                if len(batch):
                    yield first_row, batch
                    first_row += len(batch)
        except OSError as error:
            raise DataError(f"{part.file} cannot be read: {error.strerror or error}. Bring it back.") from error
        if first_row != part.first_row + part.n_rows:
            raise DataError(f"{part.file} has other rows than its header says. Write this file again.")

    def names_of(self, batch: Any, first_row: int) -> tuple[Any, dict[str, Any]]:
        """The ids of a batch and the columns that are no features, as Arrow arrays."""
        aside = {name: column_of(batch, name) for name in self._aside}
        if self.id_column is None:
            return pa.array(np.arange(first_row, first_row + len(batch))).cast(pa.string()), aside
        with self._counted_from(first_row):
            return _as_ids(self.id_column, aside[self.id_column]), aside

    @contextmanager
    def _counted_from(self, first_row: int) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            raise type(error)(f"In {self.name}, counted from row {first_row} on: {error}") from error

    @property
    def _aside(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*([self.id_column] if self.id_column else []), *self.exclude]))

    @cached_property
    def _extras(self) -> tuple[str, ...]:
        named = [name for name in self.all_columns if name not in self._aside]
        return () if self.given is None else extra_columns(named, self.given)

    def _raw(self, batch: Any) -> RawTable:
        left_out = [*self._aside, *self._extras]
        if isinstance(batch, np.ndarray):
            return raw_from(batch).without(left_out)
        return raw_from_arrow(batch.drop_columns(left_out) if left_out else batch)


def open_stream(
    data: str | Path,
    id_column: str | None = None,
    exclude: Sequence[str] = (),
    options: ReadOptions = DEFAULT,
    schema: Schema | None = None,
) -> Stream:
    """Look at the files, not at the rows. schema: that of a pool; without one, the first block decides."""
    place, name = locate(data)
    files = [name] if name else place.files(".parquet")
    if not files:
        raise DataError(f"{data} is a folder without a .parquet file. Give a table, or a folder of Parquet files.")
    form = _open(place, files, options)
    check_known(str(data), [*([id_column] if id_column else []), *exclude], form.columns)
    address = str(data) if is_address(data) else str(Path(data).absolute())
    stream = Stream(Path(str(data)).name, address, place, (form,), id_column, tuple(exclude), options, schema)
    if not stream.parts:
        raise EmptyTableError(f"{data} has no rows (0 sample(s)). Give a table with one row per item.")
    return stream


def chain(streams: Sequence[Stream]) -> Stream:
    """These streams as one, whose rows are numbered on; all have the same columns and are read in the same way."""
    first = streams[0]
    if len(streams) == 1:
        return first
    for other in streams[1:]:
        if set(other.columns) != set(first.columns):
            missing = [repr(name) for name in first.columns if name not in other.columns]
            unseen = [repr(name) for name in other.columns if name not in first.columns]
            raise SchemaError(
                f"{other.name} has other columns than {first.name} (missing: {', '.join(missing) or 'none'}; new: "
                f"{', '.join(unseen) or 'none'}). Give it the same columns; their order is free."
            )
    formats = tuple(form for stream in streams for form in stream.formats)
    return replace(first, formats=formats, links=tuple(streams))


def lies_in_files(data: str | Path) -> bool:
    """Whether data are only ever read part by part: behind an address, or in a folder of Parquet files."""
    return is_address(data) or (Path(data).is_dir() and any(Path(data).rglob("*.parquet")))


def has_more_rows(path: Path, n_rows: int) -> bool:
    """Whether a file is of a form that can be read part by part, and has more rows than this; no row is looked at."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        return False
    if path.suffix.lower() in CSV_SUFFIXES:
        n_found = -1  # one line holds the names
        with path.open("rb") as file:
            return any((n_found := n_found + part.n_rows) > n_rows for part, _ in find_parts(path.name, file, 0))
    try:
        return sum(part.n_rows for part in _open(locate(path)[0], [path.name], DEFAULT).parts) > n_rows
    except DataError:
        return False  # whoever reads it at once says what is wrong


def _open(place: Location, files: list[str], options: ReadOptions) -> Format:
    suffix = Path(files[0]).suffix.lower()
    if suffix == ".parquet":
        return open_parquet(place, files)
    if suffix in CSV_SUFFIXES:
        return open_csv(place, files[0], options)
    if suffix == ".npy":
        return open_npy(place, files[0])
    raise DataError(
        f"{files[0]} has the suffix {suffix!r}, which cannot be read in parts. Use {', '.join(SUFFIXES)}, or a folder "
        "of Parquet files."
    )


def _may_hold_words(column: Column) -> Column:
    """A column that is empty in the first block may hold any words in a later one."""
    return replace(column, kind=Category.name) if "empty" in column.seen.oddities else column


def _as_ids(name: str, column: Any) -> Any:
    """The ids that a column says, as `check_ids` reads them; that none comes twice is not looked at here."""
    kinds, kind = pa.types, column.type
    if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind)):
        column = pa.array([None if is_missing(cell) else str(cell) for cell in column.to_pylist()], pa.string())
    ids = pc.utf8_trim_whitespace(column.cast(pa.string()))
    empty = pc.fill_null(pc.equal(ids, ""), True)
    if pc.any(empty).as_py():
        raise DataError(
            f"The id column {name!r} is empty in row {pc.index(empty, True).as_py()}. Give every row an id."
        )
    return ids


def draw_rows(n_rows: int, n_drawn: int, seed: int) -> Rows:
    """`n_drawn` of the numbers below `n_rows` in rising order, any set as likely as any other; O(n_drawn) memory."""
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    rows, keys = np.empty(0, np.int64), np.empty(0)
    for start in range(0, n_rows, _KEYS_AT_ONCE):
        more = np.arange(start, min(start + _KEYS_AT_ONCE, n_rows))
        rows, keys = np.concatenate([rows, more]), np.concatenate([keys, gumbel(seed, DRAW, more)])
        if len(rows) > n_drawn:
            kept = np.argpartition(-keys, n_drawn - 1)[:n_drawn]
            rows, keys = rows[kept], keys[kept]
    return np.sort(rows)


def write_sample(stream: Stream, rows: Rows, path: Path, progress: Progress | None = None) -> str:
    """Write these rows of a stream (in rising order) as one Parquet file in one pass; returns its id column."""
    n_read = 0

    def tell(n_rows: int) -> None:
        nonlocal n_read
        n_read += n_rows
        if progress is not None:
            progress(n_read, stream.n_rows)

    draw = DrawPart(stream, rows)
    return join_sample(stream, [draw(part.number, tell) for part in stream.parts], path)


@dataclass(frozen=True)
class DrawnPart:
    """What was drawn of a part. table: its rows as an Arrow table, None where none was drawn."""

    number: int
    n_rows: int
    table: Any


@dataclass(frozen=True)
class DrawPart:
    """Draws these rows from one part after the other. It can be sent to another process."""

    stream: Stream
    rows: Rows

    def __call__(self, number: int, tell: Counted) -> DrawnPart:
        """Draw from the part of this number. tell: is told how many rows were read."""
        stream, part, table = self.stream, self.stream.parts[number], None
        first, last = np.searchsorted(self.rows, [part.first_row, part.first_row + part.n_rows])
        if first < last:
            inside, pieces = self.rows[first:last], []
            for first_row, batch in stream.batches(part):
                at = inside[(inside >= first_row) & (inside < first_row + len(batch))] - first_row
                pieces.append(_take(stream, batch, first_row, at, _id_column(stream)))
            table = pa.concat_tables(pieces, promote_options="permissive")
        tell(part.n_rows)
        return DrawnPart(number, part.n_rows, table)


def join_sample(stream: Stream, parts: Iterable[DrawnPart], path: Path) -> str:
    """Write what was drawn from the parts, in their order, as one Parquet file; returns its id column."""
    tables = [part.table for part in parts if part.table is not None]
    whole = pa.concat_tables(tables, promote_options="permissive")
    pq.write_table(with_notes(whole, stream.notes), path)
    return _id_column(stream)


def _id_column(stream: Stream) -> str:
    """The stream's own, or a name that it does not use."""
    if stream.id_column is not None:
        return stream.id_column
    name = "row"
    while name in stream.all_columns:
        name = f"{name} number"
    return name


def _take(stream: Stream, batch: Any, first_row: int, at: Rows, id_column: str) -> Any:
    """Some rows of a batch as an Arrow table: the cells as they are written, so that they are read as the rest is."""
    ids, aside = stream.names_of(batch, first_row)
    rows = pa.array(at)
    taken: dict[str, Any] = {id_column: ids.take(rows)}
    taken |= {name: column_of(batch, name).take(rows) for name in stream.features}
    return pa.table(taken | {name: aside[name].take(rows) for name in stream.exclude if name != id_column})
