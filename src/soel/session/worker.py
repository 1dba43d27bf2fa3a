"""Processes that work for a session: they make it, draw rounds, train, or refine questions while people answer.

Each is `python -m soel.session.worker FOLDER WHAT OPTIONS STORE`, with OPTIONS as JSON. It holds a lock on the folder
for as long as it lives, so a file that says "running" and a lock that nobody holds mean that it died. All it achieves
is in the store and in folders that appear whole: killing it loses nothing, and the next start goes on from there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.errors import ConfigError, SessionError, SoelError, StorageError
from soel.files import explaining, is_locked, parse_json, remove_leftovers, take_lock, write_whole
from soel.session import postgres
from soel.session.folder import SessionFolder

if TYPE_CHECKING:
    from soel.session.session import Session
    from soel.types import Progress

MODULE = "soel.session.worker"
STEPS = ("ask", "check", "unsure", "fit", "look", "add")
CREATE, REFINE = "create", "refine"
LOCK, REFINE_LOCK, LOG, PROGRESS = ".work.lock", ".refine.lock", "work.log", "progress.json"
STARTED, NO_PLACE = b"started\n", b"no place: "  # what a process says; why nothing can be written follows the second
BUSY, CLOSED = 75, 74  # exit codes: another process holds the lock, or nothing can be written
DIED = "It ended before it was done: it was killed, or the machine stopped. Nothing is lost; start it again."
SECONDS_TO_LEAVE, SECONDS_TO_REST, MOST_STARTS = 5.0, 1.0, 5
PATIENCE = 0.2  # seconds to wait for a lock that somebody may just be looking at
REPORT_PAUSE = 0.2  # seconds between two reports of progress
LOOK_PAUSE = 0.1  # seconds between two looks for answers


@dataclass(frozen=True)
class JobStatus:
    """How far a step is. what: 'ask', 'fit', 'add' or a part of a creation. done of total, in the step's own units.

    error: why it ended early.
    """

    what: str
    running: bool
    done: int = 0
    total: int = 0
    error: str = ""


class Background:
    """The steps of one session in a process of their own, one at a time.

    store: the address of its events, if it was opened with one.
    """

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self._folder, self._store = Path(folder), store

    def start(self, what: str, n: int | None = None) -> int:
        """Begin a step; returns the process id.

        'ask' draws a round of `n` (default: the whole budget), 'check' a spot check, 'unsure' a round among what the
        last fit is not sure of; 'fit' trains and looks at the pool, 'look' only looks.
        """
        return self._begin(what, {"n": n})

    def add(self, upload: str, replace: bool, who: str) -> None:
        """Begin to take what was uploaded into the session."""
        self._begin("add", {"upload": upload, "replace": replace, "who": who})

    def progress(self) -> JobStatus | None:
        """The step that runs, or the last one if it ended early; None when all is well and quiet."""
        return progress(self._folder)

    def _begin(self, what: str, options: dict[str, Any]) -> int:
        if what not in STEPS:
            raise ConfigError(f"{what!r} is not a step for the background. Use one of: {', '.join(STEPS)}.")
        place = SessionFolder(self._folder.resolve())
        _ = place.config  # says first that a folder is no session
        return begin(place.path, what, json.dumps(options), self._store)


class Refining:
    """The process beside a page that refines the open round after each answer.

    It lives as long as the page's server: the pipe between them ends with either. It holds a lock of its own, so that a
    session has one of them, and waits for other work. One that was killed or failed is started again a few times.
    """

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self._folder, self._store = Path(folder).resolve(), store
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()
        self._watch = threading.Thread(target=self._start_again, daemon=True)

    def start(self) -> int:
        """Begin; returns the process id. The page does not wait until it is warm."""
        self._process = self._launch()
        self._watch.start()
        return self._process.pid

    def stop(self) -> None:
        """Refine no longer; what is being computed is given up."""
        self._stopped.set()
        if self._process is None:
            return
        _let_go(self._process)
        self._watch.join(SECONDS_TO_LEAVE)
        if self._watch.is_alive():
            self._process.kill()
            self._watch.join()

    def _start_again(self) -> None:
        assert self._process is not None
        for _ in range(MOST_STARTS - 1):
            if self._process.wait() == 0 or self._stopped.wait(SECONDS_TO_REST):
                return
            _let_go(self._process)
            self._process = self._launch()
        self._process.wait()

    def _launch(self) -> subprocess.Popen[bytes]:
        process = launch(self._folder, REFINE, "{}", self._store)
        assert process.stdout is not None
        process.stdout.close()  # it says nothing
        return process


def begin(folder: Path, what: str, options: str, store: str | None) -> int:
    """Start a process that reports its progress, and wait until it holds the folder's lock; returns its id.

    It takes the lock itself: one that is handed over would not work on Windows.
    """
    log = folder / LOG
    if is_locked(folder / LOCK):
        raise SessionError(_why_not(BUSY, log))
    process = launch(folder, what, options, store)
    _let_go(process)
    assert process.stdout is not None
    with process.stdout as answer:
        line = answer.readline()
    if line != STARTED:
        code = process.wait()
        if code == CLOSED:
            raise StorageError(line.removeprefix(NO_PLACE).decode().strip())
        raise SessionError(_why_not(code, log))
    threading.Thread(target=process.wait, daemon=True).start()  # so that it does not stay behind as a zombie
    return process.pid


def launch(folder: Path, what: str, options: str, store: str | None) -> subprocess.Popen[bytes]:
    """Start a process with pipes to its input and output; the store's password goes by the environment."""
    address = store or "" if store in (None, postgres.IN_FOLDER) else postgres.without_password(str(store))
    log = folder / LOG
    with explaining(log), log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", MODULE, str(folder), what, options, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=postgres.child_environment(store),
            start_new_session=True,  # a signal for the server's terminal is not meant for it
        )


def progress(folder: Path) -> JobStatus | None:
    """The step that runs, or the last one if it ended early; None when all is well and quiet."""
    busy = is_locked(Path(folder) / LOCK)  # asked first: a step that ends meanwhile has written its end by then
    try:
        status = JobStatus(**parse_json((Path(folder) / PROGRESS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return JobStatus("", True) if busy else None
    if status.running and not busy:
        return replace(status, running=False, error=DIED)
    return status if status.running or status.error else None


def write_progress(folder: Path, now: JobStatus) -> None:
    """Replace what is said about the step. Not synced: after a crash of the machine nobody holds the lock."""
    write_whole(folder / PROGRESS, json.dumps(asdict(now)).encode(), lasting=False)


def _why_not(code: int, log: Path) -> str:
    if code == BUSY:
        return "The machine is at work on this session already; wait until it is done."
    return f"The work could not be started (code {code}); {log} says why."


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """End the pipe to a process; one that refines then ends by itself."""
    assert process.stdin is not None
    process.stdin.close()


def main(folder: str, what: str, options: str, store: str) -> int:
    """Be such a process; returns BUSY where another one holds the lock, CLOSED where nothing can be written."""
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
    code = run(place, what, options, store or None)
    held.release()  # at once: leaving takes torch a while
    return code


def run(place: Path, what: str, options: str, store: str | None) -> int:
    """Take the step and write down how it ended."""
    from soel.session.create import open_session  # here, as below: the lock is taken before anything slow is imported

    error = ""
    try:
        if what == CREATE:
            _create(place, options, store)
        else:
            with closing(open_session(place, store)) as session:
                take_step(session, what, json.loads(options), Reporter(place, what))
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


def _create(place: Path, options: str, store: str | None) -> None:
    """Make the session that was asked for; pictures take minutes, of which two parts are reported."""
    from soel.session.create import create_session
    from soel.session.labels import take_label_column
    from soel.session.request import Request

    asked = Request.from_text(options)
    extracting, scanning = Reporter(place, "extract", "write"), Reporter(place, "scan", "open")
    media = replace(asked.media, progress=extracting, scanned=scanning)
    remove_leftovers(asked.folder)
    made = create_session(asked.folder, asked.data, asked.options, store=store, media=media, columns=asked.columns)
    with closing(made):
        if asked.labels_by is not None:
            take_label_column(made, asked.labels_by)


def _leave(*_: object) -> None:
    raise SystemExit(143)  # unlike the signal itself, this lets half-written folders be removed


def take_step(session: Session, what: str, options: dict[str, Any], report: Progress) -> None:
    """Draw a round, train, take in an upload, or only look at the pool with the last model; then say why."""
    from soel.report.outcome import keep_outcome
    from soel.report.reasons import keep_reasons

    if what == "add":
        from soel.session.uploads import add_upload

        add_upload(session, **options, progress=report)
    elif what == "fit":
        from soel.session.feedback import adopt_answered

        adopt_answered(session)
        session.fit(report)
    elif what != "look":
        _draw(session, what, options.get("n"), report)
    if session.state.fit is not None and what in ("add", "fit", "look"):
        keep_outcome(session)
    if session.state.fit is not None or what != "add":
        keep_reasons(session)


def _draw(session: Session, what: str, n: int | None, report: Progress) -> None:
    """A round or a spot check of `n` items, or of fewer where no more can be asked."""
    from soel.session.rounds import find_candidates

    state = session.state
    found = find_candidates(state, session.ids)
    most = min(state.n_left, len(found.fresh) if what == "check" else len(found))
    size = min(n or most, most) or None
    if what == "check":
        session.spot_check(size, report)
    else:
        session.ask(size, report, not_sure=what == "unsure")


class Refiner:
    """Refines a session whenever something new was said, but not while other work runs on it.

    When nothing was said since, it says why the new questions look as they do.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._work, self._refined_at = session, session.folder.path / LOCK, 0
        self._unexplained = False

    def look(self) -> bool:
        """Look once; returns whether something was put before the open questions."""
        from soel.report.reasons import keep_reasons
        from soel.session.rounds import can_refine

        state, refined = self._session.state, False
        if is_locked(self._work):
            return False
        if state.last_answer > self._refined_at and can_refine(state):
            self._refined_at = state.last_answer  # whatever comes of it: what fails once is not tried again and again
            refined = self._unexplained = _try(lambda: self._session.refine() is not None)
        elif self._unexplained and state.last_answer <= self._refined_at:
            self._unexplained = False
            _try(lambda: keep_reasons(self._session))
        return refined


def _try(step: Callable[[], bool | None]) -> bool:
    """Take a step that people do not wait for; the log gets what fails, and the next-best question is asked."""
    try:
        return bool(step())
    except Exception as error:
        in_words(error)
        return False


def refine_while_read(place: Path, store: str | None) -> int:
    """Refine until the process that started this one ends."""
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
