"""Work in a process of its own: drawing a round, or training, while people go on labelling.

The process holds a lock on the session's folder for as long as it lives, so a file that says "running" and a lock
that nobody holds mean that it died. All it achieves is in the store and the model folders; killing it loses nothing,
and the next start goes on from there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from soel.errors import ConfigError, SessionError, StorageError
from soel.files import explaining, is_locked, write_whole
from soel.session import SessionFolder, postgres
from soel.session.child import BUSY, CLOSED, NO_PLACE, STARTED
from soel.session.store import IN_FOLDER, child_environment

STEPS = ("ask", "check", "unsure", "fit", "look", "add")
LOCK, LOG = ".work.lock", "work.log"
DIED = "It ended before it was done: it was killed, or the machine stopped. Nothing is lost; start it again."


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
    """The background work of one session. store: the address of its events, if it was opened with one."""

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self._folder, self._store = Path(folder), store

    def start(self, what: str, n: int | None = None) -> None:
        """Begin a step: 'ask' draws a round of `n` (default: the whole budget), 'fit' trains and looks at the pool.

        'check' draws a spot check, 'unsure' a round among what the last fit is not sure of.
        """
        start(self._folder, what, n, self._store)

    def add(self, upload: str, replace: bool, who: str) -> None:
        """Begin to take what was uploaded into the session."""
        more = json.dumps({"upload": upload, "replace": replace, "who": who})
        start(self._folder, "add", None, self._store, more)

    def progress(self) -> JobStatus | None:
        """The step that runs, or the last one if it ended early; None when all is well and quiet."""
        return progress(self._folder)


def start(folder: Path, what: str, n: int | None = None, store: str | None = None, more: str = "") -> int:
    """Begin a step in a process of its own and return its process id. One runs at a time. more: what 'add' adds."""
    if what not in STEPS:
        raise ConfigError(f"{what!r} is not a step for the background. Use one of: {', '.join(STEPS)}.")
    place = SessionFolder(Path(folder).resolve())
    _ = place.config  # says first that a folder is no session
    return begin(place, what, ["soel.session.tasks", str(place.path), what, str(n or ""), more], store)


def begin(place: SessionFolder, what: str, module: Sequence[str], store: str | None) -> int:
    """Run a module with its words and the store's address in a process of its own; returns its id.

    The process takes the folder's lock itself and says so: a lock that is handed over would not work on Windows.
    """
    lock, log = place.path / LOCK, place.path / LOG
    if is_locked(lock):
        raise SessionError(_why_not(BUSY, log))
    first = [str(lock), str(place.progress), json.dumps(asdict(JobStatus(what, True)))]
    process = _launch([sys.executable, "-m", "soel.session.child", *first, *module, address_for(store)], log, store)
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


def _why_not(code: int, log: Path) -> str:
    if code == BUSY:
        return "The machine is at work on this session already; wait until it is done."
    return f"The work could not be started (code {code}); {log} says why."


def progress(folder: Path) -> JobStatus | None:
    """The step that runs, or the last one if it ended early; None when all is well and quiet."""
    place = SessionFolder(Path(folder))
    busy = is_locked(place.path / LOCK)  # asked first: a step that ends meanwhile has written its end by then
    try:
        status = JobStatus(**json.loads(place.progress.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return JobStatus("", True) if busy else None
    if status.running and not busy:
        return JobStatus(status.what, False, status.done, status.total, DIED)
    return status if status.running or status.error else None


def write_progress(place: SessionFolder, now: JobStatus) -> None:
    """Replace what is said about the step. Not synced: after a crash of the machine nobody holds the lock."""
    write_whole(place.progress, json.dumps(asdict(now)).encode(), lasting=False)


def _launch(command: list[str], log: Path, store: str | None) -> subprocess.Popen[bytes]:
    with explaining(log), log.open("ab") as errors:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=child_environment(store),
            start_new_session=True,  # a signal for the server's terminal is not meant for it
        )


def address_for(store: str | None) -> str:
    """The address of the events as a command line may show it: without its password, empty for the folder's own."""
    return store or "" if store in (None, IN_FOLDER) else postgres.without_password(str(store))


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
                [sys.executable, "-m", "soel.session.listener", str(self._folder), address_for(self._store)],
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
