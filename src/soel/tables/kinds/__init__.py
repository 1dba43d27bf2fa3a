"""Kinds of columns: a class each, in the order in which a column is offered to them."""

from __future__ import annotations

from soel.tables.column import Column
from soel.tables.kinds.categorical import Category, Constant, FreeText, Id, Ignored, IPv4
from soel.tables.kinds.kind import ColumnKind
from soel.tables.kinds.number import Flag, Number
from soel.tables.kinds.time import Duration, Time

KINDS: tuple[ColumnKind, ...] = (
    IPv4(),
    Flag(),
    Time(),
    Duration(),
    Number(),  # refuses text that mostly holds numbers, so all that may hold some stand before
    Id(),
    FreeText(),
    Category(),  # takes what is left
    Constant(),
    Ignored(),
)
_BY_NAME = {kind.name: kind for kind in KINDS}
KIND_NAMES = tuple(_BY_NAME)


def kind_of(column: Column) -> ColumnKind:
    """The kind of a column."""
    return _BY_NAME[column.kind]
