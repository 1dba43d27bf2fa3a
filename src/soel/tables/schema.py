"""How a table is read: its schema, decided once from the cells of a pool, as data and in words.

First all columns of text are looked at for the decimal sign of the file; then each column is offered to the kinds, in
the order of `kinds.KINDS`, and the first that recognises it has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from soel.errors import ModelFileError
from soel.records import read_body
from soel.tables.arrow import give_back, tidy
from soel.tables.column import BOUNDS, Column, Form, Seen, Values
from soel.tables.kinds import KIND_NAMES, KINDS, kind_of
from soel.tables.kinds.categorical import WORDS, Category, Constant, Id, Ignored
from soel.tables.kinds.kind import (
    ColumnKind,
    ColumnSource,
    FileHints,
    Found,
    NumberSigns,
    has_fractions,
    is_label_name,
    see_numbers,
)
from soel.tables.kinds.number import Number, as_floats, find_numbers, has_leading_zeros, tells_point
from soel.tables.limits import check_known
from soel.tables.missing import blank_missing, write_code
from soel.tables.raw_table import UNKNOWN, Layout, RawColumn, RawTable
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.text import percent
from soel.types import Floats

_BLOCKS = "▁▂▃▄▅▆▇█"
_SIGNS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe", "_": "underscore"}
MOSTLY = 0.9  # a share of missing cells that is worth a word
LEADING_ZEROS = "numbers with leading zeros are taken for codes; <<numeric>> takes them as numbers"
AS_WORDS = ("categorical", "text")


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
        return self.by_name[name]

    @property
    def by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @property
    def doubtful(self) -> tuple[Column, ...]:
        """Columns that might be meant otherwise."""
        return tuple(column for column in self.columns if not column.is_sure)

    @property
    def unused(self) -> frozenset[str]:
        """Columns that give no feature; new rows need not have them."""
        return frozenset(column.name for column in self.columns if not kind_of(column).is_used)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"columns": [column.to_json() for column in self.columns]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Schema:
        try:
            schema = read_body(cls, values)
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


def decide(raw: RawTable, options: ReadOptions = DEFAULT) -> tuple[Schema, dict[str, Values]]:
    """How each column is read, with the values that were computed on the way."""
    check_known("The table", options.named, list(raw.cells))
    numbers: dict[str, NumberSigns | None] = {}  # of text, which is tidied again: kept, it would be a second table
    plain_columns = []
    for at, (name, column) in enumerate(raw.cells.items()):
        if column.type == "text" and not options.leaves_out(name) and options.kind_for(name) not in AS_WORDS:
            texts, plain = _tidied(column, "")
            if plain is None:
                numbers[name] = find_numbers(texts)
            else:
                plain_columns.append(column)
            give_back(len(column), at)
    decimal = options.decimal or _find_decimal(numbers.values(), plain_columns)
    hints = FileHints(decimal, options.decimal is not None, raw.layout.separator, raw.named, options.dates)
    decided, values = [], {}
    for at, (name, column) in enumerate(raw.cells.items()):
        if options.leaves_out(name):
            decided.append(Column(name, Ignored.name))
            continue
        kind, found = _recognise(_source(name, column, numbers.get(name), hints, options.kind_for(name)))
        decided.append(_finish(name, kind, found, len(column)))
        if found.values is not None and decided[-1].form.layout != WORDS:
            values[name] = found.values
        give_back(len(column), at)
    flags = options.drop_duplicates, options.strict
    return Schema(tuple(decided), raw.n_rows, 0, decimal or ".", raw.layout, *flags), values


def _tidied(column: RawColumn, asked: str | None) -> tuple[Any, Floats | None]:
    """Text as tidy Arrow strings with null for missing, and its values where all are plain numbers."""
    if asked in AS_WORDS:  # none of which is missing
        return tidy(column.values), None
    plain = as_floats(column.values)
    if plain is not None:
        return column.values, plain
    texts = blank_missing(tidy(column.values))
    return texts, as_floats(texts)


def _find_decimal(numbers: Iterable[NumberSigns | None], plain_columns: Iterable[RawColumn]) -> str | None:
    """The decimal sign of those columns that have only one; None where there is none, or where they contradict."""
    found = [signs for signs in numbers if signs is not None]
    decimals = {signs.decimal for signs in found} - {None}
    if not any(signs.seen for signs in found):
        return None
    if "." not in decimals and any(tells_point(_tidied(column, "")[0]) for column in plain_columns):
        decimals.add(".")
    return decimals.pop() if len(decimals) == 1 else None


def _source(
    name: str, column: RawColumn, numbers: NumberSigns | None, hints: FileHints, asked: str | None
) -> ColumnSource:
    if column.type == "text":
        texts, plain = _tidied(column, asked)
        whole = plain is not None and not has_fractions(plain)
        return ColumnSource(name, column, asked, texts, plain, numbers, whole, False, hints)
    if column.type == "category" or asked in AS_WORDS:
        words = ColumnSource(name, column, asked if asked in AS_WORDS else Category.option)
        return replace(words, texts=words.as_texts)
    is_number = column.type in ("number", "flag", "duration")
    plain = Number().parse(Column(name, Number.name), column) if is_number else None  # refuses infinities
    return ColumnSource(name, column, asked, None, plain, None, column.whole, column.lost, hints)


def _recognise(source: ColumnSource) -> tuple[ColumnKind, Found]:
    if source.plain is not None and source.texts is None and not source.file.named and np.isnan(source.plain).all():
        return Number(), Found(see_numbers(source.plain), values=source.plain)
    if source.is_empty:
        return Ignored(), Found(Seen(len(source.cells)))
    kinds = [kind for kind in KINDS if not source.asked or kind.option == source.asked]
    for kind in kinds:
        found = kind.sniff(source)
        if found is not None:
            zeros = source.texts is not None and not source.asked and found.values is None and has_leading_zeros(source)
            return kind, replace(found, doubt=LEADING_ZEROS) if zeros else found
    raise kinds[0].asked_in_vain(source)


def _finish(name: str, kind: ColumnKind, found: Found, n_rows: int) -> Column:
    """The column with what is odd about it; one that is constant has a kind of its own."""
    seen, doubt, form, odd = found.seen, found.doubt, found.form, []
    is_constant = seen.n_distinct == 1 and not seen.n_missing
    if n_rows and seen.n_missing == n_rows:
        odd.append("empty")
    elif seen.n_missing > MOSTLY * n_rows:
        odd.append(f"mostly empty: {percent(seen.n_missing / n_rows)} of the cells are missing")
    if is_constant:
        odd.append("constant")
    odd += seen.oddities
    if isinstance(kind, Id):
        odd.append("looks like an id: give it as <<id-column>>, it is no feature")
    elif is_constant and not isinstance(kind, Ignored):
        form = form if kind.name == Number.name else Form(layout=WORDS)
        kind, doubt = Constant(), ""
    elif is_label_name(name) and 1 < seen.n_distinct <= 3:
        doubt = "it looks like a label: <<label-column>> keeps it out of the features, <<ignore>> leaves it out"
        odd.append("looks like a label")
    return Column(name, kind.name, form, doubt, replace(seen, oddities=tuple(odd)))
