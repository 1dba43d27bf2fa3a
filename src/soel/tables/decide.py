"""From the cells of a pool to its schema: decided once, on all rows, whatever their order.

First all columns of text are looked at for the decimal sign of the file; then each column is offered to the kinds, in
the order of `kinds.KINDS`, and the first that recognises it has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from soel.tables.column import Column, Form, Seen, Values
from soel.tables.kinds import KINDS, kind_of
from soel.tables.kinds.categorical import Category
from soel.tables.kinds.kind import ColumnKind, ColumnSource, FileHints, Found, has_fractions, is_label_name, see_numbers
from soel.tables.kinds.number import Number, has_leading_zeros
from soel.tables.kinds.number_text import NumberSigns, as_floats, blank_missing, find_numbers, tells_point, tidy
from soel.tables.kinds.unused import WORDS, Constant, Id, Ignored
from soel.tables.limits import check_known
from soel.tables.raw_table import RawColumn, RawTable, give_back
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.table_schema import Schema
from soel.text import percent
from soel.types import Floats

MOSTLY = 0.9  # a share of missing cells that is worth a word
LEADING_ZEROS = "numbers with leading zeros are taken for codes; <<numeric>> takes them as numbers"
AS_WORDS = ("categorical", "text")


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


def parse_column(column: Column, cells: RawColumn) -> Values:
    """The values of a column, read as its kind says; cells that read differently are refused."""
    return kind_of(column).parse(column, cells)


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
    plain = parse_column(Column(name, Number.name), column) if is_number else None  # refuses infinities
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
