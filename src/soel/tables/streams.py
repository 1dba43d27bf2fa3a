"""Data larger than memory: read part by part, block by block, with types that are decided once.

A stream is a Parquet file, a folder of Parquet files, a CSV or a .npy file, by path or by fsspec address. It holds no
rows and can be sent to another process; parts can be read in any order and by anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from soel.errors import DataError, EmptyTableError, SchemaError
from soel.tables.address import LocalPlace, Place, find_place, fingerprint_of, is_address
from soel.tables.batches import Block, Format, Part, column_of, ids_of, raw_of, row_numbers
from soel.tables.columns import Column
from soel.tables.csv_lines import find_runs
from soel.tables.csv_parts import open_csv
from soel.tables.decide import decide
from soel.tables.faults import reason
from soel.tables.frame import extra_columns, frame_by, note_on_extras
from soel.tables.kinds.category import Category
from soel.tables.npy_parts import open_npy
from soel.tables.options import DEFAULT, ReadOptions
from soel.tables.parquet_parts import open_parquet
from soel.tables.schema import Schema

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
SUFFIXES = (".parquet", *CSV_SUFFIXES, ".npy")


@dataclass(frozen=True)
class Stream:
    """name: for people. address: where it lies. features: its columns but for those set aside.

    id_column: what names the rows; None takes their number in the stream, from 0 on. exclude: columns that are no
    features. options: what was said about columns. given: how the pool was read, None where it is to be found out.
    """

    name: str
    address: str
    place: Place
    format: Format
    id_column: str | None
    exclude: tuple[str, ...]
    options: ReadOptions = DEFAULT
    given: Schema | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The units of resuming and of sharding, in order."""
        return self.format.parts

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are features, in order."""
        return tuple(name for name in self.columns if name not in self._aside)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All of its columns, but those that the pool did not have."""
        return tuple(name for name in self.format.columns if name not in self._extras)

    @cached_property
    def _extras(self) -> tuple[str, ...]:
        if self.given is None or self.given.strict:
            return ()
        return extra_columns([name for name in self.format.columns if name not in self._aside], self.given)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out about the file, and left out of it."""
        notes: tuple[str, ...] = getattr(self.format, "notes", ())
        return (*notes, note_on_extras(self._extras)) if self._extras else notes

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(part.n_rows for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the files' names, sizes, first and last MiB."""
        return fingerprint_of(self.place, sorted({part.file for part in self.parts}))

    @cached_property
    def schema(self) -> Schema:
        """How the columns are read: as given, else as the first block says."""
        if self.given is not None:
            return self.given
        batch = next(batch for batch in self.format.batches(self.parts[0]) if len(batch))
        raw = raw_of(batch, self._aside)
        found = decide(raw.cells, self.options, raw.layout, raw.named)[0]
        return replace(found, columns=tuple(map(_may_hold_words, found.columns)))

    def blocks(self, part: Part) -> Iterator[Block]:
        """The rows of a part, in order."""
        for first_row, batch in self.batches(part):
            yield self._block(batch, first_row)

    def batches(self, part: Part) -> Iterator[tuple[int, Any]]:
        """The rows of a part as they lie in the file, each batch with the number of its first row."""
        first_row = part.first_row
        try:
            for batch in self.format.batches(part):
                if len(batch):
                    yield first_row, batch
                    first_row += len(batch)
        except OSError as error:
            raise DataError(f"{part.file} cannot be read: {error.strerror or error}. Bring it back.") from error
        if first_row != part.first_row + part.n_rows:
            raise DataError(f"{part.file} has other rows than its header says. Write this file again.")

    @property
    def _aside(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*([self.id_column] if self.id_column else []), *self.exclude]))

    def _block(self, batch: Any, first_row: int) -> Block:
        try:
            frame = frame_by(raw_of(batch, (*self._aside, *self._extras)), self.schema)
            ids, aside = self.names_of(batch, first_row)
        except DataError as error:
            raise type(error)(f"In {self.name}, counted from row {first_row} on: {error}") from error
        except ValueError as error:  # Arrow's, of text that is no UTF-8
            raise DataError(
                f"{self.name} cannot be read from row {first_row} on: {reason(error)}. Write it again."
            ) from error
        return Block(first_row, frame, ids, aside)

    def names_of(self, batch: Any, first_row: int) -> tuple[Any, dict[str, Any]]:
        """The ids of a batch and the columns that are no features, as Arrow arrays."""
        aside = {name: column_of(batch, name) for name in self._aside}
        ids = row_numbers(first_row, len(batch)) if self.id_column is None else ids_of(self.id_column, aside)
        return ids, aside


def open_stream(
    data: str | Path,
    id_column: str | None = None,
    exclude: Sequence[str] = (),
    options: ReadOptions = DEFAULT,
    schema: Schema | None = None,
) -> Stream:
    """Look at the files, not at the rows. schema: that of a pool; without one, the first block decides."""
    place, name = find_place(data)
    files = [name] if name else place.files(".parquet")
    if not files:
        raise DataError(f"{data} is a folder without a .parquet file. Give a table, or a folder of Parquet files.")
    aside = (*([id_column] if id_column else []), *exclude)
    form = _open(place, files, options)
    _check_known(str(data), aside, form.columns)
    address = str(data) if is_address(data) else str(Path(data).absolute())
    stream = Stream(Path(str(data)).name, address, place, form, id_column, tuple(exclude), options, schema)
    if not stream.parts:
        raise EmptyTableError(f"{data} has no rows (0 sample(s)). Give a table with one row per item.")
    return stream


def _may_hold_words(column: Column) -> Column:
    """A column that is empty in the first block may hold any words in a later one."""
    return replace(column, kind=Category.name) if "empty" in column.seen.oddities else column


def lies_in_files(data: str | Path) -> bool:
    """Whether data are only ever read part by part: behind an address, or in a folder of Parquet files."""
    return is_address(data) or (Path(data).is_dir() and any(Path(data).rglob("*.parquet")))


def has_more_rows(path: Path, n_rows: int) -> bool:
    """Whether a file is of a form that can be read part by part, and has more rows than this; no row is looked at."""
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        return False
    if path.suffix.lower() in CSV_SUFFIXES:
        return _has_more_lines(path, n_rows + 1)  # one holds the names
    try:
        return sum(part.n_rows for part in _open(LocalPlace(path.parent), [path.name]).parts) > n_rows
    except DataError:
        return False  # whoever reads it at once says what is wrong


def _has_more_lines(path: Path, n_lines: int) -> bool:
    n_found = 0
    with path.open("rb") as file:
        for run in find_runs(file, 0, path.stat().st_size):
            n_found += run.n_rows
            if n_found > n_lines:
                return True
    return False


def _open(place: Place, files: list[str], options: ReadOptions = DEFAULT) -> Format:
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


def _check_known(name: str, wanted: Collection[str], columns: Sequence[str]) -> None:
    unknown = [column for column in wanted if column not in columns]
    if unknown:
        shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
        raise SchemaError(f"{name} has no column {', '.join(map(repr, unknown))}. Choose among its columns: {shown}.")
