"""What the process behind `background` does, given FOLDER STEP N MORE STORE."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from soel.errors import SoelError
from soel.session import Session, SessionFolder, create
from soel.session.draw import find_candidates
from soel.session.growth import add_data
from soel.session.uploads import Uploads
from soel.session.worker import JobStatus, write_progress
from soel.types import Progress

ARRAYS = (".npz", ".npy")
PAUSE = 0.2  # seconds between two reports of progress


class Reporter:
    """Called with (done, total); writes it down, but not more often than a page looks."""

    def __init__(self, place: SessionFolder, what: str) -> None:
        self._place, self._what, self._last = place, what, 0.0

    def __call__(self, done: int, total: int) -> None:
        """Write down how far the step is."""
        if done >= total or time.monotonic() - self._last > PAUSE:
            self._last = time.monotonic()
            write_progress(self._place, JobStatus(self._what, True, done, total))


def run(words: Sequence[str]) -> int:
    """Take one step and write down how it ended."""
    folder, what, n, more, store = words
    place = SessionFolder(Path(folder))
    error = _attempt(place, what, int(n) if n else None, more, store or None)
    write_progress(place, JobStatus(what, False, error=error))
    return 1 if error else 0


def _attempt(place: SessionFolder, what: str, n: int | None, more: str, store: str | None) -> str:
    """Take the step; returns what went wrong, or nothing."""
    try:
        with closing(create.open_session(place.path, store)) as session:
            report = Reporter(place, what)
            if what == "add":
                add_upload(session, **json.loads(more), progress=report)
            else:
                take_step(session, what, n, report)
    except Exception as error:
        return in_words(error)
    return ""


def in_words(error: Exception) -> str:
    """What went wrong, for a page; the log gets the whole story."""
    traceback.print_exception(error)
    known = isinstance(error, SoelError | OSError)
    return str(error) if known else f"This is a bug: {type(error).__name__}: {error}."


def add_upload(session: Session, upload: str, replace: bool, who: str, progress: Progress | None = None) -> None:
    """Take what a browser has sent into the session, and look at the grown pool with the last model."""
    from soel.report.outcome import keep_outcome
    from soel.report.reasons import keep_reasons

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


def take_step(session: Session, what: str, n: int | None, report: Reporter) -> None:
    """Draw a round, train and look at the pool with the new model, or only look with the last one; then say why."""
    from soel.report.reasons import keep_reasons

    if what in ("ask", "check", "unsure"):
        state = session.state
        found = find_candidates(state, session.ids)
        most = min(state.n_left, len(found.fresh) if what == "check" else len(found))
        size = min(n or most, most) or None
        if what == "check":
            session.spot_check(size, report)
        else:
            session.ask(size, report, not_sure=what == "unsure")
        keep_reasons(session)
        return
    from soel.report.outcome import keep_outcome

    if what == "fit":
        session.fit(report)
    keep_outcome(session)
    keep_reasons(session)
