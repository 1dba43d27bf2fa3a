"""How far a training is, for whoever asks. A process of its own, so it imports nothing heavy."""

from __future__ import annotations


class Counter:
    """How many epochs are done."""

    def __init__(self) -> None:
        self._done = 0

    def put(self, done: int) -> None:
        """So many."""
        self._done = done

    def get(self) -> int:
        """How many."""
        return self._done
