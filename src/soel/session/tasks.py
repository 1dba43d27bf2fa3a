"""What a process of a session does: `python -m soel.session.tasks FOLDER WHAT TEXT STORE`, see `soel.session.worker`.

TEXT: the options of a step, or the request for a session to create, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.errors import SoelError, StorageError
from soel.files import is_locked, remove_leftovers, take_lock
from soel.session.worker import (
    BUSY,
    CLOSED,
    CREATE,
    LOCK,
    NO_PLACE,
    REFINE,
    REFINE_LOCK,
    STARTED,
    JobStatus,
    write_progress,
)

if TYPE_CHECKING:
    from soel.session.session import Session
    from soel.types import Progress

ARRAYS = (".npz", ".npy")
PATIENCE = 0.2  # seconds to wait for a lock that somebody may just be looking at
REPORT_PAUSE = 0.2  # seconds between two reports of progress
LOOK_PAUSE = 0.1  # seconds between two looks for answers


def main(folder: str, what: str, text: str, store: str) -> int:
    """Be that process; returns BUSY where another one holds the lock, CLOSED where nothing can be written."""
    place = Path(folder)
    if what == REFINE:
        return refine_while_read(place, store or None)
    try:
        held = take_lock(place / LOCK, PATIENCE)
        if held is None:
            return BUSY
        write_progress(place, JobStatus(what, True))
    except StorageError as error:
        os.write(1, NO_PLACE + f"{error}\n".encode("utf-8", "backslashreplace"))
        return CLOSED
    os.write(1, STARTED)
    os.dup2(2, 1)  # what is printed from now on belongs into the log
    if what == CREATE:
        signal.signal(signal.SIGTERM, _leave)
        tempfile.tempdir = str(place)  # what a killed process leaves there goes with the place
    code = run(place, what, text, store or None)
    held.release()  # at once: leaving takes torch a while
    return code


def run(place: Path, what: str, text: str, store: str | None) -> int:
    """Take the step and write down how it ended."""
    from soel.session.create import open_session  # here, as below: the lock is taken before anything slow is imported

    error = ""
    try:
        if what == CREATE:
            create(place, text, store)
        else:
            with closing(open_session(place, store)) as session:
                take_step(session, what, json.loads(text), Reporter(place, what))
    except Exception as failure:
        error = in_words(failure)
    if place.exists():  # somebody who saw a new session may have cleared the place where it was prepared
        write_progress(place, JobStatus(what, False, error=error))
    return 1 if error else 0


class Reporter:
    """Called with (done, total); writes it down, but not more often than a page looks. then: what follows it."""

    def __init__(self, place: Path, what: str, then: str | None = None) -> None:
        self._place, self._what, self._then, self._last = place, what, then, 0.0

    def __call__(self, done: int, total: int) -> None:
        """Write down how far the step is."""
        if done >= total or time.monotonic() - self._last > REPORT_PAUSE:
            self._last = time.monotonic()
            write_progress(self._place, JobStatus(self._what, True, done, total))
        if done >= total and self._then is not None:
            write_progress(self._place, JobStatus(self._then, True))


def in_words(error: Exception) -> str:
    """What went wrong, for a page; the log gets the whole story."""
    traceback.print_exception(error)
    known = isinstance(error, SoelError | OSError)
    return str(error) if known else f"This is a bug: {type(error).__name__}: {error}."


def create(place: Path, text: str, store: str | None) -> None:
    """Make the session that was asked for; pictures take minutes, of which two parts are reported."""
    from soel.session.create import create_session
    from soel.session.labels import take_label_column
    from soel.session.request import Request

    asked = Request.from_text(text)
    extracting, scanning = Reporter(place, "extract", "write"), Reporter(place, "scan", "open")
    media = replace(asked.media, progress=extracting, scanned=scanning)
    remove_leftovers(asked.folder)
    made = create_session(asked.folder, asked.data, asked.options, store=store, media=media, columns=asked.columns)
    with closing(made):
        if asked.labels_by is not None:
            take_label_column(made, asked.labels_by)


def _leave(*_: object) -> None:
    raise SystemExit(143)  # unlike the signal itself, this lets half-written folders be removed


def take_step(session: Session, what: str, options: dict[str, Any], report: Reporter) -> None:
    """Draw a round, train, take in an upload, or only look at the pool with the last model; then say why."""
    from soel.report.outcome import keep_outcome
    from soel.report.reasons import keep_reasons

    if what == "add":
        add_upload(session, **options, progress=report)
        return
    if what in ("ask", "check", "unsure"):
        _draw(session, what, options.get("n"), report)
    else:
        if what == "fit":
            from soel.session.feedback import adopt_answered

            adopt_answered(session)
            session.fit(report)
        keep_outcome(session)
    keep_reasons(session)


def _draw(session: Session, what: str, n: int | None, report: Reporter) -> None:
    """A round or a spot check of `n` items, or of fewer where no more can be asked."""
    from soel.session.draw import find_candidates

    state = session.state
    found = find_candidates(state, session.ids)
    most = min(state.n_left, len(found.fresh) if what == "check" else len(found))
    size = min(n or most, most) or None
    if what == "check":
        session.spot_check(size, report)
    else:
        session.ask(size, report, not_sure=what == "unsure")


def add_upload(session: Session, upload: str, replace: bool, who: str, progress: Progress | None = None) -> None:
    """Take what a browser has sent into the session, and look at the grown pool with the last model."""
    from soel.report.outcome import keep_outcome
    from soel.report.reasons import keep_reasons
    from soel.session.growth import add_data
    from soel.session.uploads import Uploads

    uploads, of_pictures = Uploads(session.folder.path), session.folder.has_pictures
    data = uploads.data(upload)
    if of_pictures and data.suffix.lower() not in ARRAYS:
        data = uploads.folder(upload)  # a single picture is a folder of one
    n_pools = len(session.state.pools)
    if of_pictures:
        uploads.keep(upload)  # before the event that names them: whoever dies in between leaves files, not gaps
    try:
        add_data(session, data, replace, who, progress)
    except BaseException:
        if of_pictures and len(session.state.pools) == n_pools:
            uploads.give_up(upload)
        raise
    if not of_pictures:
        uploads.remove(upload)
    if session.state.fit is not None:
        keep_outcome(session)
        keep_reasons(session)


class Refiner:
    """Refines a session whenever something new was said, but not while other work runs on it.

    When nothing was said since, it says why the new questions look as they do.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._work, self._refined_at = session, session.folder.path / LOCK, 0
        self._unexplained = False

    def look(self) -> bool:
        """Look once; returns whether something was put before the open questions."""
        from soel.session.propose import can_refine

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
        from soel.report.reasons import keep_reasons

        if not self._unexplained:
            return
        self._unexplained = False
        try:
            keep_reasons(self._session)
        except Exception as error:
            in_words(error)  # a question can be answered without it


def refine_while_read(place: Path, store: str | None) -> int:
    """Refine until whoever started this process is gone."""
    from soel.session.create import open_session

    threading.Thread(target=_end_with_starter, daemon=True).start()
    os.dup2(2, 1)
    held = take_lock(place / REFINE_LOCK, -1)  # where another page has such a process, this one waits for its end
    assert held is not None
    with closing(open_session(place, store)) as session:
        if not session.is_sequential:
            return 0
        _ = session.learner  # imports all that is slow before the first answer
        refiner = Refiner(session)
        while True:
            refiner.look()
            time.sleep(LOOK_PAUSE)


def _end_with_starter() -> None:
    """Leave at once when the pipe ends: what is being computed is of no use then, and nothing is half written."""
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
