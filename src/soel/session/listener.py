"""What the process behind `listening` does: `python -m soel.session.listener FOLDER STORE`."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

from soel.files import is_locked, take_lock
from soel.report.reasons import keep_reasons
from soel.session import Session, create
from soel.session.propose import can_refine
from soel.session.tasks import in_words
from soel.session.worker import LOCK

OWN_LOCK = ".listening.lock"
PAUSE = 0.1  # seconds between two looks for answers


class Listener:
    """Refines a session whenever something new was said, but not while other work runs on it.

    When nothing was said since, it says why the new questions look as they do.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._work, self._refined_at = session, session.folder.path / LOCK, 0
        self._unexplained = False

    def look(self) -> bool:
        """Look once; returns whether something was put before the open questions."""
        state = self._session.state
        if is_locked(self._work):
            return False
        if state.last_answer <= self._refined_at:
            self._explain()
            return False
        if not can_refine(state):
            return False
        self._refined_at = state.last_answer  # whatever comes of it: what fails once is not tried again and again
        try:
            self._unexplained = self._session.refine() is not None
        except Exception as error:
            in_words(error)  # for the log: without a better question the next-best one is asked
            return False
        return self._unexplained

    def _explain(self) -> None:
        if not self._unexplained:
            return
        self._unexplained = False
        try:
            keep_reasons(self._session)
        except Exception as error:
            in_words(error)  # a question can be answered without it


def main(folder: str, store: str) -> int:
    """Listen until whoever started it is gone."""
    threading.Thread(target=_end_with_starter, daemon=True).start()
    held = take_lock(Path(folder) / OWN_LOCK)
    while held is None:  # another page on this session has one; when that ends, this one takes over
        time.sleep(PAUSE)
        held = take_lock(Path(folder) / OWN_LOCK)
    with closing(create.open_session(Path(folder), store or None)) as session:
        if not session.is_sequential:
            return 0
        _ = session.learner  # imports all that is slow before the first answer
        listener = Listener(session)
        while True:
            listener.look()
            time.sleep(PAUSE)


def _end_with_starter() -> None:
    """Leave at once when the pipe ends: what is being computed is of no use then, and nothing is half written."""
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
