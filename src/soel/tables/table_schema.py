"""How a table is read: its columns with what was found out about the file, as data and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from soel.errors import ModelFileError
from soel.tables.column import BOUNDS, Column
from soel.tables.kinds import KIND_NAMES, kind_of
from soel.tables.kinds.number import write_code
from soel.tables.raw_table import UNKNOWN, Layout
from soel.types import read_fields

_BLOCKS = "▁▂▃▄▅▆▇█"
_SIGNS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe", "_": "underscore"}


@dataclass(frozen=True)
class Schema:
    """How a table is read.

    n_duplicates: rows that repeat an earlier one; drop_duplicates: whether those are left out of a pool.
    decimal: the decimal sign of its text.
    strict: whether new rows with columns that the pool did not have are refused; else these columns are left out.
    """

    columns: tuple[Column, ...]
    n_rows: int = 0
    n_duplicates: int = 0
    decimal: str = "."
    layout: Layout = UNKNOWN
    drop_duplicates: bool = False
    strict: bool = False

    def __getitem__(self, name: str) -> Column:
        """How a column is read."""
        return self.by_name[name]

    @property
    def by_name(self) -> dict[str, Column]:
        """All columns by their names."""
        return {column.name: column for column in self.columns}

    @property
    def doubtful(self) -> tuple[Column, ...]:
        """Columns that might be meant otherwise."""
        return tuple(column for column in self.columns if not column.is_sure)

    @property
    def unused(self) -> frozenset[str]:
        """Columns that give no feature; new rows need not have them."""
        return frozenset(column.name for column in self.columns if not kind_of(column).is_used)

    def without(self, names: Any) -> Schema:
        """The schema less some columns."""
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"columns": [column.to_json() for column in self.columns]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Schema:
        """Back from the values of `to_json`."""
        try:
            schema: Schema = read_fields(cls, values)
            unknown = [column.kind for column in schema.columns if column.kind not in KIND_NAMES]
            if unknown:
                raise ValueError(f"unknown kind of column {unknown[0]!r}")
            return schema
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"The description of how columns are read cannot be read itself ({error!r}). Save the model again."
            ) from error


def describe_kind(column: Column) -> str:
    """The kind with how it is written, such as 'number, decimal comma, in €'."""
    form = column.form
    parts: list[str] = [column.kind]
    if form.decimal != ".":
        parts.append(f"decimal {_SIGNS[form.decimal]}")
    if form.thousands:
        parts.append(f"thousands by {_SIGNS[form.thousands]}")
    units, bounds = ([unit for unit in form.units if (unit in BOUNDS) is bound] for bound in (False, True))
    parts += [f"in {', '.join(units)}"] if units else []
    parts += [f"some with {', '.join(bounds)}"] if bounds else []
    if form.words:
        parts.append("/".join(sorted(form.words, key=lambda word: -form.words[word])))
    if form.missing:
        parts.append(f"{' / '.join(map(write_code, form.missing))} for missing")
    if form.order:
        parts.append({"dmy": "day first", "mdy": "month first", "ymd": "year first"}[form.order])
    elif form.layout and kind_of(column).names_layout:
        parts.append(form.layout)
    return ", ".join(parts)


def describe_features(column: Column) -> str:
    """What the column becomes."""
    return kind_of(column).becomes(column)


def options_for(column: Column) -> tuple[str, ...]:
    """The settings that change how the column is read."""
    return (*(("numeric",) if column.form.missing else ()), *kind_of(column).changed_by)


def draw_bars(bars: Sequence[int]) -> str:
    """A small picture: one block a bar, as high as it is frequent."""
    highest = max(bars, default=0)
    if not highest:
        return ""
    return "".join(" " if not bar else _BLOCKS[round((len(_BLOCKS) - 1) * bar / highest)] for bar in bars)


def warnings_of(schema: Schema) -> list[str]:
    """What has to be said loudly: what was guessed, and which columns could be meant otherwise."""
    doubts = [f"Column {each.name!r} is read as {describe_kind(each)}: {each.doubt}." for each in schema.doubtful]
    return [*notes_of(schema), *doubts]


def notes_of(schema: Schema | None) -> list[str]:
    """How a file was read, and what was left out of it: lines before the table, blank lines, repeated rows."""
    if schema is None:
        return []
    n_left_out = schema.n_duplicates if schema.drop_duplicates else 0
    rows = (
        "1 row repeats an earlier one and is" if n_left_out == 1 else f"{n_left_out:,} rows repeat earlier ones and are"
    )
    return [*schema.layout.notes, *([f"{rows} left out."] if n_left_out else [])]


def document_of(schema: Schema) -> dict[str, Any]:
    """All of it as plain values, for `--json`."""
    columns = [
        {
            **each.to_json(),
            "read_as": describe_kind(each),
            "becomes": describe_features(each),
            "sure": each.is_sure,
            "changed_by": ", ".join(options_for(each)),
        }
        for each in schema.columns
    ]
    return {**schema.to_json(), "columns": columns, "warnings": warnings_of(schema)}
