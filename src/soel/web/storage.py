"""Whether the session's disk takes anything in: where it does not, the page is there to look at."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from soel.errors import StorageError
from soel.files import write_whole

PROBE, BYTES = ".page.probe", 4096
SECONDS = 3.0  # between two tries


class Storage:
    """Tries now and then to write a few bytes into a folder."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._probe, self._clock = folder / PROBE, clock
        self._tried, self._problem, self._lock = -SECONDS, "", threading.Lock()

    def problem(self) -> str:
        """Why nothing can be written; empty when all is well."""
        with self._lock:  # of two at once, one would remove what the other has written
            if self._clock() - self._tried >= SECONDS:
                self._tried, self._problem = self._clock(), self._try()
            return self._problem

    def _try(self) -> str:
        try:
            write_whole(self._probe, b"\0" * BYTES, private=True, lasting=False)
            self._probe.unlink(missing_ok=True)  # another server of the session may have tried as well
        except StorageError as error:
            return str(error)
        except OSError as error:
            return f"The session's folder cannot be written to: {error.strerror or error}."
        return ""
