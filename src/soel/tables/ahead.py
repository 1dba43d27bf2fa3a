"""Reading ahead: what comes next is prepared in a thread while the caller works on what it has."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

Given = TypeVar("Given")
_END = object()


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
