"""What the rows of a pool are, as far as they show it themselves."""

from __future__ import annotations

import numpy as np

from soel.tables.columns import Column
from soel.tables.frame import Frame
from soel.types import Kind

MANY_COLUMNS = 300  # feature vectors of networks are wider than this, but so are some tables
DISTINCT_SHARE = 0.5  # of the values beside a column's commonest: 0.74 and more on ResNet features, 0.23 on pixels
LOOKED_AT = 1000  # rows


def find_kind(frame: Frame, wanted: str = "auto") -> Kind:
    """The kind that the user says, or the one that the rows look like: a table, unless they look like feature vectors.

    Feature vectors have many columns, all of them numbers, none missing. A column may be zero for most rows, but the
    values that are not hardly repeat: flags, counts and codes are a table's.
    """
    kind = Kind.read(wanted)
    if kind is not None:
        return kind
    columns = list(frame.columns.values())
    if len(columns) <= MANY_COLUMNS or not all(_is_whole(column) for column in columns):
        return Kind.TABLE
    counted = [_count_values(column[:LOOKED_AT]) for column in columns]
    n_values, n_distinct = (sum(counts) for counts in zip(*counted, strict=True))
    return Kind.VECTORS if n_distinct > DISTINCT_SHARE * max(n_values, 1) else Kind.TABLE


def _is_whole(column: Column) -> bool:
    return column.dtype != object and not np.isnan(column).any()


def _count_values(column: Column) -> tuple[int, int]:
    """How many values a column has beside its commonest one, and how many of them are distinct."""
    _, counts = np.unique(column, return_counts=True)
    return len(column) - int(counts.max()), len(counts) - 1
