"""How often an address may try: a few failures, then it has to wait."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_FAILURES, SECONDS, MOST_ADDRESSES = 10, 60.0, 10_000


class RateLimit:
    """Counts failures by address over the last minute; of very many addresses the longest quiet ones are forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._failures: OrderedDict[str, list[float]] = OrderedDict()

    def seconds_to_wait(self, address: str) -> int:
        """How long this address has to wait before it may try again; 0 for at once."""
        with self._lock:
            recent = self._recent(address)
            return 0 if len(recent) < MOST_FAILURES else max(1, round(recent[0] + SECONDS - self._clock()))

    def note_failure(self, address: str) -> None:
        """Count a failure."""
        with self._lock:
            self._failures[address] = [*self._recent(address), self._clock()][-MOST_FAILURES:]
            self._failures.move_to_end(address)
            while len(self._failures) > MOST_ADDRESSES:
                self._failures.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - SECONDS
        return [at for at in self._failures.get(address, []) if at > since]
