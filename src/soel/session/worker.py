"""Processes that work for a session: they make it, draw rounds, train, or refine questions while people answer.

Each is `python -m soel.session.tasks FOLDER WHAT TEXT STORE`. It holds a lock on the folder for as long as it lives, so
a file that says "running" and a lock that nobody holds mean that it died. All it achieves is in the store and in
folders that appear whole: killing it loses nothing, and the next start goes on from there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from soel.errors import ConfigError, SessionError, StorageError
from soel.files import explaining, is_locked, write_whole
from soel.session import postgres
from soel.session.folder import SessionFolder
from soel.session.store import IN_FOLDER, child_environment

MODULE = "soel.session.tasks"
STEPS = ("ask", "check", "unsure", "fit", "look", "add")
CREATE, REFINE = "create", "refine"
LOCK, REFINE_LOCK, LOG, PROGRESS = ".work.lock", ".listening.lock", "work.log", "progress.json"
STARTED, NO_PLACE = b"started\n", b"no place: "  # what a process says; why nothing can be written follows the second
BUSY, CLOSED = 75, 74  # codes: another process holds the lock, or nothing can be written
DIED = "It ended before it was done: it was killed, or the machine stopped. Nothing is lost; start it again."
SECONDS_TO_LEAVE, SECONDS_TO_REST, MOST_STARTS = 5.0, 1.0, 5


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
        process = launch(self._folder, REFINE, "", self._store)
        assert process.stdout is not None
        process.stdout.close()  # it says nothing
        return process


def begin(folder: Path, what: str, text: str, store: str | None) -> int:
    """Start a process that reports its progress, and wait until it holds the folder's lock; returns its id.

    It takes the lock itself: one that is handed over would not work on Windows.
    """
    log = folder / LOG
    if is_locked(folder / LOCK):
        raise SessionError(_why_not(BUSY, log))
    process = launch(folder, what, text, store)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with process.stdout as answer:
        line = answer.readline()
    if line != STARTED:
        code = process.wait()
        if code == CLOSED:
            raise StorageError(line.removeprefix(NO_PLACE).decode().strip())
        raise SessionError(_why_not(code, log))
    threading.Thread(target=process.wait, daemon=True).start()  # so that it does not stay behind as a zombie
    return process.pid


def launch(folder: Path, what: str, text: str, store: str | None) -> subprocess.Popen[bytes]:
    """Start a process with pipes to its input and output; the store's password goes by the environment."""
    address = store or "" if store in (None, IN_FOLDER) else postgres.without_password(str(store))
    log = folder / LOG
    with explaining(log), log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", MODULE, str(folder), what, text, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=child_environment(store),
            start_new_session=True,  # a signal for the server's terminal is not meant for it
        )


def progress(folder: Path) -> JobStatus | None:
    """The step that runs, or the last one if it ended early; None when all is well and quiet."""
    busy = is_locked(Path(folder) / LOCK)  # asked first: a step that ends meanwhile has written its end by then
    try:
        status = JobStatus(**json.loads((Path(folder) / PROGRESS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return JobStatus("", True) if busy else None
    if status.running and not busy:
        return JobStatus(status.what, False, status.done, status.total, DIED)
    return status if status.running or status.error else None


def write_progress(folder: Path, now: JobStatus) -> None:
    """Replace what is said about the step. Not synced: after a crash of the machine nobody holds the lock."""
    write_whole(folder / PROGRESS, json.dumps(asdict(now)).encode(), lasting=False)


def _why_not(code: int, log: Path) -> str:
    if code == BUSY:
        return "The machine is at work on this session already; wait until it is done."
    return f"The work could not be started (code {code}); {log} says why."


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """End the pipe to a process, which then ends by itself."""
    assert process.stdin is not None
    process.stdin.close()
