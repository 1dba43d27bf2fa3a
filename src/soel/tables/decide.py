"""From the cells of a pool to its schema: decided once, on all rows, whatever their order.

First all columns of text are looked at for the decimal sign of the file; then each column is offered to the kinds, in
the order of `kinds.KINDS`, and the first that recognises it has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soel.errors import SchemaError
from soel.tables.column import Column, Form, Seen, Values
from soel.tables.kinds import KINDS, kind_of
from soel.tables.kinds.category import Category
from soel.tables.kinds.ipv4 import are_addresses
from soel.tables.kinds.kind import ColumnKind, ColumnSource, FileHints, Found, has_fractions, is_label_name, see_numbers
from soel.tables.kinds.number import Number, has_leading_zeros
from soel.tables.kinds.number_text import NumberSigns, as_floats, blank_missing, find_numbers, tells_point, tidy
from soel.tables.kinds.unused import WORDS, Constant, Id, Ignored
from soel.tables.raw_columns import RawColumn, give_back
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.table_schema import UNKNOWN, Layout, Schema
from soel.text import percent

MOSTLY = 0.9  # a share of missing cells that is worth a word
LEADING_ZEROS = "numbers with leading zeros are taken for codes; <<numeric>> takes them as numbers"


def decide(
    cells: Mapping[str, RawColumn], options: ReadOptions = DEFAULT, layout: Layout = UNKNOWN, named: bool = True
) -> tuple[Schema, dict[str, Values]]:
    """How each column is read, with the values that were computed on the way.

    named: whether the columns have names of their own; those of a plain array are never taken for ids.
    """
    _check_known(options, cells)
    sketches = {}
    for at, (name, column) in enumerate(cells.items()):
        if not options.leaves_out(name) and column.type == "text":
            sketches[name] = _sketch(column, options.kind_for(name))
            give_back(len(column), at)
    decimal = options.decimal or _find_decimal(sketches, cells)
    hints = FileHints(decimal, options.decimal is not None, layout.separator, named, options.dates)
    decided, values = [], {}
    for at, (name, column) in enumerate(cells.items()):
        if options.leaves_out(name):
            decided.append(Column(name, Ignored.name))
            continue
        kind, found = _recognise(_source(name, column, sketches.get(name), hints, options.kind_for(name)))
        decided.append(_finish(name, kind, found, len(column)))
        if found.values is not None and decided[-1].form.layout != WORDS:
            values[name] = found.values
        give_back(len(column), at)
    n_rows = max((len(column) for column in cells.values()), default=0)
    flags = options.drop_duplicates, options.strict
    return Schema(tuple(decided), n_rows, 0, decimal or ".", layout, *flags), values


def parse_column(column: Column, cells: RawColumn) -> Values:
    """The values of a column, read as its kind says; cells that read differently are refused."""
    return kind_of(column).parse(column, cells)


@dataclass(frozen=True)
class _Sketch:
    """What a first look at a column of text keeps; its cells would be a second table.

    is_plain: whether all are numbers as computers write them. is_tidy: whether they are so without being tidied.
    numbers: what else they allow as numbers. are_words: whether they were asked for as words, none of which is missing.
    """

    is_plain: bool = False
    is_tidy: bool = False
    numbers: NumberSigns | None = None
    are_words: bool = False


def _sketch(column: RawColumn, asked: str | None) -> _Sketch:
    if asked in ("categorical", "text"):
        return _Sketch(are_words=True)
    if as_floats(column.values) is not None:
        return _Sketch(is_plain=True, is_tidy=True)
    texts = blank_missing(tidy(column.values))
    is_plain = as_floats(texts) is not None
    return _Sketch(is_plain, False, None if is_plain or are_addresses(texts) else find_numbers(texts))


def _texts(column: RawColumn, sketch: _Sketch) -> Any:
    if sketch.is_tidy:
        return column.values
    texts = tidy(column.values)
    return texts if sketch.are_words else blank_missing(texts)


def _find_decimal(sketches: Mapping[str, _Sketch], cells: Mapping[str, RawColumn]) -> str | None:
    """The decimal sign of those columns that have only one; None where there is none, or where they contradict."""
    found = [sketch.numbers for sketch in sketches.values() if sketch.numbers is not None]
    signs = {numbers.decimal for numbers in found} - {None}
    if not any(numbers.seen for numbers in found):
        return None
    if any(sketch.is_plain and tells_point(_texts(cells[name], sketch)) for name, sketch in sketches.items()):
        signs.add(".")
    return signs.pop() if len(signs) == 1 else None


def _source(name: str, column: RawColumn, sketch: _Sketch | None, hints: FileHints, asked: str | None) -> ColumnSource:
    if sketch is not None:
        texts = _texts(column, sketch)
        plain = as_floats(texts) if sketch.is_plain else None
        whole = plain is not None and not has_fractions(plain)
        return ColumnSource(name, column, asked, texts, plain, sketch.numbers, whole, False, hints)
    if column.type == "category" or asked in ("categorical", "text"):
        words = ColumnSource(name, column, asked if asked in ("categorical", "text") else Category.option)
        return replace(words, texts=words.as_texts)
    is_number = column.type in ("number", "flag", "duration")
    plain = parse_column(Column(name, Number.name), column) if is_number else None  # refuses infinities
    return ColumnSource(name, column, asked, None, plain, None, column.whole, column.lost, hints)


def _recognise(source: ColumnSource) -> tuple[ColumnKind, Found]:
    n_cells = len(source.cells)
    if source.plain is not None and source.texts is None and not source.file.named and np.isnan(source.plain).all():
        return Number(), Found(see_numbers(source.plain), values=source.plain)
    if _is_empty(source):
        return Ignored(), Found(Seen(n_cells))
    kinds = [kind for kind in KINDS if not source.asked or kind.option == source.asked]
    for kind in kinds:
        found = kind.sniff(source)
        if found is not None:
            zeros = source.texts is not None and not source.asked and found.values is None and has_leading_zeros(source)
            return kind, replace(found, doubt=LEADING_ZEROS) if zeros else found
    raise kinds[0].asked_in_vain(source)


def _is_empty(source: ColumnSource) -> bool:
    if source.texts is not None:
        return source.texts.null_count == len(source.texts) or (source.asked is not None and not source.words.n_cells)
    values = source.cells.values
    return bool((np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)).all())


def _finish(name: str, kind: ColumnKind, found: Found, n_rows: int) -> Column:
    """The column with what is odd about it; one that is constant has a kind of its own."""
    seen = found.seen
    odd = (*_find_oddities(seen, n_rows), *seen.oddities)
    doubt, form = found.doubt, found.form
    if isinstance(kind, Id):
        odd = (*odd, "looks like an id: give it as <<id-column>>, it is no feature")
    elif seen.n_distinct == 1 and not seen.n_missing and not isinstance(kind, Ignored):
        form = form if kind.name == Number.name else Form(layout=WORDS)
        kind, doubt = Constant(), ""
    elif is_label_name(name) and 1 < seen.n_distinct <= 3:
        doubt = "it looks like a label: <<label-column>> keeps it out of the features, <<ignore>> leaves it out"
        odd = (*odd, "looks like a label")
    return Column(name, kind.name, form, doubt, replace(seen, oddities=odd))


def _find_oddities(seen: Seen, n_rows: int) -> tuple[str, ...]:
    """What the counts of a column alone say, in words."""
    odd = []
    if n_rows and seen.n_missing == n_rows:
        odd.append("empty")
    elif seen.n_missing > MOSTLY * n_rows:
        odd.append(f"mostly empty: {percent(seen.n_missing / n_rows)} of the cells are missing")
    if seen.n_distinct == 1 and not seen.n_missing:
        odd.append("constant")
    return tuple(odd)


def _check_known(options: ReadOptions, names: Mapping[str, Any]) -> None:
    unknown = [name for name in options.named if name not in names]
    if unknown:
        shown = ", ".join(list(names)[:20]) + (", ..." if len(names) > 20 else "")
        raise SchemaError(f"There is no column {', '.join(map(repr, unknown))}. Choose among: {shown}.")
