"""A process beside the page that hears each answer: it keeps the session's model in memory and refines the open round.

It lives as long as the page's server: the pipe between them ends with either. It holds a lock of its own, so that a
session has one of them, and never the lock of other work, for which it waits. All it achieves is in the store: killing
it loses nothing but the wait until another one is warm, which is started a few times.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from soel.session.jobs.background import LOG, address_for
from soel.session.stores.event_stores import child_environment

SECONDS_TO_LEAVE, SECONDS_TO_REST, MOST_STARTS = 5.0, 1.0, 5


class Listening:
    """The process that hears answers to one session. store: the address of its events, if it was opened with one."""

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self._folder, self._store = Path(folder).resolve(), store
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()
        self._watch = threading.Thread(target=self._start_again, daemon=True)

    def start(self) -> int:
        """Begin to listen; returns the process id. The page does not wait until it is warm."""
        self._process = self._launch()
        self._watch.start()
        return self._process.pid

    def stop(self) -> None:
        """Listen no longer; a refine that is being computed is given up."""
        self._stopped.set()
        if self._process is None:
            return
        _let_go(self._process)
        self._watch.join(SECONDS_TO_LEAVE)
        if self._watch.is_alive():
            self._process.kill()
            self._watch.join()

    def _start_again(self) -> None:
        """Wait for its end; one that was killed or failed is followed by another, but not for ever."""
        assert self._process is not None
        for _ in range(MOST_STARTS - 1):
            if self._process.wait() == 0 or self._stopped.wait(SECONDS_TO_REST):
                return
            _let_go(self._process)
            self._process = self._launch()
        self._process.wait()

    def _launch(self) -> subprocess.Popen[bytes]:
        with (self._folder / LOG).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "soel.session.jobs.listening_task", str(self._folder), address_for(self._store)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=child_environment(self._store),
                start_new_session=True,  # a signal for the server's terminal is not meant for it
            )


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """End the pipe to a process, which then ends by itself."""
    assert process.stdin is not None
    process.stdin.close()
