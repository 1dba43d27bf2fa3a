"""Batches: data larger than memory as independent parts, read ahead block by block."""

from __future__ import annotations

import queue
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np

from soel.checks import is_missing
from soel.errors import DataError
from soel.tables.frame import Frame, Raw, raw_from, raw_from_arrow

PART_ROWS = 262_144  # a part ends with the row group or block that reaches this
BLOCK_ROWS = 32_768  # what is in memory at once
Given = TypeVar("Given")
_END = object()


@dataclass(frozen=True)
class Part:
    """A run of rows of one file, which can be read without the others: the unit of resuming and of sharding.

    number: its place in the stream. first_row: the number in the stream of its first row. start, stop: where it lies
    in the file, in the unit of the format: row groups, bytes or rows.
    """

    number: int
    file: str
    first_row: int
    n_rows: int
    start: int
    stop: int


class Format(Protocol):
    """How files of one kind are cut into parts and read. It can be sent to another process."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts, in order."""

    def batches(self, part: Part) -> Iterator[Any]:
        """The rows of a part in order, at most BLOCK_ROWS at once: Arrow tables, or arrays (n, d)."""


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


def ahead(items: Iterable[Given], depth: int = 2) -> Iterator[Given]:
    """The same items in the same order, up to `depth` of them made in advance; what goes wrong is raised here."""
    ready: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_fill, args=(items, ready, stopped), daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        stopped.set()
        thread.join()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _fill(items: Iterable[Any], ready: queue.Queue[Any], stopped: threading.Event) -> None:
    last: Any = _END
    try:
        for item in items:
            if not _put(item, ready, stopped):
                return
    except BaseException as error:
        last = _Failure(error)
    _put(last, ready, stopped)


def _put(item: Any, ready: queue.Queue[Any], stopped: threading.Event) -> bool:
    """Whether the item was taken; a caller who has left takes nothing."""
    while not stopped.is_set():
        try:
            ready.put(item, timeout=0.05)
        except queue.Full:
            continue
        return True
    return False
