"""Batches: data larger than memory as independent parts, read ahead block by block."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np

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


def column_of(batch: Any, name: str) -> Any:
    """One column of a batch as an Arrow array."""
    arrow = import_module("pyarrow")
    if isinstance(batch, np.ndarray):
        return arrow.array(batch[:, int(name.removeprefix("x"))])
    return batch.column(name).combine_chunks()


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
