"""Parts of work that wait until a test lets them go on, so that it can kill the process that is at work on one."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from soel.scoring.cluster_scoring import ScorePart
from soel.scoring.ray.clusters import FeatureFile
from soel.scoring.ray.parts import Done
from soel.session.cluster_drawing import DrawPart
from soel.types import Floats

PATIENCE = 240.0  # seconds, far more than anything here takes, also on a busy machine


def wait_until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"Nothing came of it: {what}.")
        time.sleep(0.02)


@dataclass(frozen=True)
class Gate:
    """A folder: those who wait leave their process id there; a file named 'open' lets all of them through."""

    folder: Path

    def wait(self) -> None:
        """Called in a worker."""
        if (self.folder / "open").exists():
            return
        (self.folder / str(os.getpid())).touch()
        wait_until((self.folder / "open").exists, "the gate was not opened")

    def kill_one_who_waits(self, raylets: Collection[int] = ()) -> Killer:
        """Called by a test: a real signal for the first who waits; then the gate opens.

        raylets: kill a whole node instead, one of these, as soon as somebody waits there.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        return Killer(self, raylets)

    def who_waits(self) -> list[int]:
        return [int(file.name) for file in self.folder.iterdir()]


class Killer(threading.Thread):
    """Kills one process that waits at a gate, or its node. pid: of that process."""

    def __init__(self, gate: Gate, raylets: Collection[int]) -> None:
        super().__init__(daemon=True)
        self._gate, self._raylets, self.pid = gate, raylets, 0
        self.start()

    def run(self) -> None:
        wait_until(self._found, "nobody came to the gate")
        if self._raylets:  # a machine that is gone: its raylet and all that it has started
            raylet = parent_of(self.pid)
            children = processes("ray::", [raylet])
            for pid in (raylet, *children):
                kill(pid)
        else:
            kill(self.pid)
        (self._gate.folder / "open").touch()

    def _found(self) -> int:
        able = [pid for pid in self._gate.who_waits() if not self._raylets or parent_of(pid) in self._raylets]
        self.pid = able[0] if able else 0
        return self.pid


def kill(pid: int) -> None:
    assert pid > 1, "the process is gone already"  # 0 would be all of this test run
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: is_gone(pid), "a killed process lives on")


def is_gone(pid: int) -> bool:
    return _state_of(pid)[0] == "Z"


def parent_of(pid: int) -> int:
    return int(_state_of(pid)[1])


def _state_of(pid: int) -> list[str]:
    """The state of a process, its parent and more; that of a zombie where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["Z", "0"]


def processes(title: str, raylets: Collection[int]) -> list[int]:
    """The ids of the workers with this in their title that these raylets have started; others' are left alone."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        pid = int(folder.name)
        if line.startswith(b"ray::") and title.encode() in line and parent_of(pid) in raylets and not is_gone(pid):
            found.append(pid)
    return sorted(found)


class GatedFeatureFile(FeatureFile):
    def read(self, start: int, stop: int) -> Floats:
        Gate(Path(self.path).parents[1] / "gate-features").wait()
        return super().read(start, stop)


class GatedDrawPart(DrawPart):
    def __call__(self, number: int) -> Done:
        Gate(self.place.parent / "gate-drawing").wait()
        return super().__call__(number)


class GatedScorePart(ScorePart):
    def __call__(self, number: int) -> Done:
        Gate(self.parts.folder.parent / "gate-scoring").wait()
        return super().__call__(number)


class ScorePartOnFullDisk(ScorePart):
    """Files may have a hundred bytes: what a full disk says comes from the same call."""

    def __call__(self, number: int) -> Done:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        try:
            return super().__call__(number)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
