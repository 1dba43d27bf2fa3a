"""What the process behind `creation` does, given PLACE REQUEST STORE."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from soel.files import remove_leftovers
from soel.session import SessionFolder
from soel.session.create import create_session
from soel.session.labels import take_label_column
from soel.session.request import Request
from soel.session.tasks import Reporter, in_words
from soel.session.worker import JobStatus, write_progress


class Part(Reporter):
    """Reports one part of the creation; when it is done, says which one follows."""

    def __init__(self, place: SessionFolder, what: str, then: str) -> None:
        super().__init__(place, what)
        self._then = then

    def __call__(self, done: int, total: int) -> None:
        """Write down how far this part is."""
        super().__call__(done, total)
        if done >= total:
            write_progress(self._place, JobStatus(self._then, True))


def main(words: Sequence[str]) -> int:
    """Make the session and write down how it ended."""
    folder, request, store = words
    place = SessionFolder(Path(folder))
    error = _attempt(place, Request.from_text(request), store or None)
    if place.path.exists():  # somebody who saw the session may have cleared it
        write_progress(place, JobStatus("create", False, error=error))
    return 1 if error else 0


def _attempt(place: SessionFolder, asked: Request, store: str | None) -> str:
    extracting, scanning = Part(place, "extract", "write"), Part(place, "scan", "open")
    media = replace(asked.media, progress=extracting, scanned=scanning)
    try:
        remove_leftovers(asked.folder)
        made = create_session(asked.folder, asked.data, asked.options, store=store, media=media, columns=asked.columns)
        with closing(made):
            if asked.labels_by is not None:
                take_label_column(made, asked.labels_by)
    except Exception as error:
        return in_words(error)
    return ""


def run(words: Sequence[str]) -> int:
    """Be that process."""
    signal.signal(signal.SIGTERM, _leave)
    tempfile.tempdir = words[0]  # what a killed process leaves there goes with the place
    return main(words)


def _leave(*_: object) -> None:
    raise SystemExit(143)  # unlike the signal itself, this lets half-written folders be removed
