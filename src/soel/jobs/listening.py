"""A process beside the page that hears each answer: it keeps the session's model in memory and refines the open round.

It lives as long as the page's server: the pipe between them ends with either. It holds a lock of its own, so that a
session has one of them, and never the lock of other work, for which it waits. All it achieves is in the store: killing
it loses nothing but the wait until another one is warm.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from soel.jobs.background import LOG, address_for
from soel.stores.event_stores import child_environment

SECONDS_TO_LEAVE = 5.0


class Listening:
    """The process that hears answers to one session. store: the address of its events, if it was opened with one."""

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self._folder, self._store = Path(folder).resolve(), store
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Begin to listen; returns the process id. The page does not wait until it is warm."""
        with (self._folder / LOG).open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "soel.jobs.listening_task", str(self._folder), address_for(self._store)],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                env=child_environment(self._store),
                start_new_session=True,  # a signal for the server's terminal is not meant for it
            )
        return self._process.pid

    def stop(self) -> None:
        """Listen no longer; a refine that is being computed is given up."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
