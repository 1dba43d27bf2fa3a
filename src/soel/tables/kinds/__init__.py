"""Kinds of columns: a class each, in the order in which a column is offered to them."""

from __future__ import annotations

from soel.tables.columns import Column
from soel.tables.kinds.address import Address
from soel.tables.kinds.base import Kind
from soel.tables.kinds.category import Category
from soel.tables.kinds.flag import Flag
from soel.tables.kinds.number import Number
from soel.tables.kinds.text import Text
from soel.tables.kinds.time import Duration, Time
from soel.tables.kinds.unused import Constant, Id, Ignored

KINDS: tuple[Kind, ...] = (
    Address(),
    Flag(),
    Time(),
    Duration(),
    Number(),  # refuses text that mostly holds numbers, so all that may hold some stand before
    Id(),
    Text(),
    Category(),  # takes what is left
    Constant(),
    Ignored(),
)
_BY_NAME = {kind.name: kind for kind in KINDS}
KIND_NAMES = tuple(_BY_NAME)


def kind_of(column: Column) -> Kind:
    """The kind of a column."""
    return _BY_NAME[column.kind]
