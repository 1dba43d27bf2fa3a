"""A real Ray cluster of several nodes, and parts of work that wait, so that a test can kill the process at work."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soel.scoring.ray import QUIET
from soel.scoring.scored_parts import ScoredPart
from soel.scoring.stream import ScorePart
from soel.tables.batches import DrawnPart, DrawPart
from soel.types import Counted

ROOT = Path(__file__).parents[2]
SETTINGS = {
    **QUIET,
    "RAY_AUTH_MODE": "disabled",  # nothing outside this machine reaches it, and no token is written anywhere
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),  # workers import the gates of these tests
    "OMP_NUM_THREADS": "1",
    "RAY_worker_niceness": "0",  # at Ray's usual 15 other work on this machine would make these tests wait
    "RAY_health_check_initial_delay_ms": "0",  # a node that was killed is missed after three seconds
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
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


class GatedDrawPart(DrawPart):
    def __call__(self, number: int, tell: Counted) -> DrawnPart:
        Gate(Path(self.stream.address).parent / "gate-drawing").wait()
        return super().__call__(number, tell)


class GatedScorePart(ScorePart):
    def __call__(self, number: int, tell: Counted) -> ScoredPart:
        Gate(Path(self.stream.address).parent / "gate-scoring").wait()
        return super().__call__(number, tell)


class LostScorePart(ScorePart):
    def __call__(self, number: int, tell: Counted) -> ScoredPart:
        Gate(Path(self.stream.address).parent / "gate-lost").wait()
        return super().__call__(number, tell)


@dataclass(frozen=True)
class Nodes:
    """A cluster that is up. head: the process that knows all others. raylets: one per node, the head's first."""

    address: str
    head: int
    raylets: tuple[int, ...]


@contextmanager
def start_nodes() -> Iterator[Nodes]:
    """A cluster of three nodes with one core each."""
    before = dict(os.environ)
    os.environ.update(SETTINGS)
    import ray
    from ray.cluster_utils import Cluster

    size: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(**size)
    head = cluster.head_node.all_processes["gcs_server"][0].process.pid
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()]
    agents = processes("Agent", raylets)
    yield Nodes(cluster.address, head, tuple(raylets))
    ray.shutdown()
    cluster.shutdown()
    for pid in agents:  # those of a node without a head stay behind
        if not is_gone(pid):
            kill(pid)
    os.environ.clear()
    os.environ.update(before)
