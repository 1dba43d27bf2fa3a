"""Blocks: some consecutive rows of a stream in memory, made from an Arrow table or an array."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from soel.checks import is_missing
from soel.errors import DataError
from soel.tables.frame import Frame, Raw, raw_from, raw_from_arrow


@dataclass(frozen=True)
class Block:
    """Some consecutive rows. first_row: the number of the first one in the stream. ids: an Arrow array of text (n,).

    aside: the columns that are no features, as Arrow arrays (n,).
    """

    first_row: int
    frame: Frame
    ids: Any
    aside: Mapping[str, Any]

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return self.frame.n_rows


def raw_of(batch: Any, aside: Collection[str]) -> Raw:
    """The features of a batch as they lie in the file: all columns but those set aside."""
    if isinstance(batch, np.ndarray):
        return raw_from(batch).without(aside)
    return raw_from_arrow(batch.drop_columns(list(aside)) if aside else batch)


def column_of(batch: Any, name: str) -> Any:
    """One column of a batch as an Arrow array."""
    arrow = import_module("pyarrow")
    if isinstance(batch, np.ndarray):
        return arrow.array(batch[:, int(name.removeprefix("x"))])
    return batch.column(name).combine_chunks()


def _is_text(kind: Any) -> bool:
    kinds = import_module("pyarrow").types
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


def row_numbers(first_row: int, n_rows: int) -> Any:
    """Row numbers as ids."""
    arrow = import_module("pyarrow")
    return arrow.array(np.arange(first_row, first_row + n_rows)).cast(arrow.string())


def ids_of(name: str, aside: Mapping[str, Any]) -> Any:
    """The ids that a column says, as `check_ids` reads them; that none comes twice is not looked at here."""
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    column = aside[name]
    if not (_is_text(column.type) or arrow.types.is_integer(column.type)):
        column = arrow.array([None if is_missing(cell) else str(cell) for cell in column.to_pylist()], arrow.string())
    ids = compute.utf8_trim_whitespace(column.cast(arrow.string()))
    empty = compute.fill_null(compute.equal(ids, ""), True)
    if compute.any(empty).as_py():
        row = compute.index(empty, True).as_py()
        raise DataError(f"The id column {name!r} is empty in row {row}. Give every row an id.")
    return ids
