"""Processes that fill one cache at the same time: nothing is lost, half-written or computed twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from soel.images.extract import BATCH, extract
from soel.images.source import open_source
from tests.images.makers import make_folder
from tests.images.test_patches import PlaceExtractor, view_of

N_PICTURES = 60
# Each batch takes a while, so that the processes are at it together; each one's passes are counted in a file.
FILLER = """
import os, sys, time
from pathlib import Path
import numpy as np
from soel.images import extract as pipeline
from soel.images.extract import extract
from soel.images.source import open_source
from soel.images.views import View
from tests.images.test_patches import PlaceExtractor
pipeline.SYNC_SECONDS = 0.0
folder, cache, results = (Path(word) for word in sys.argv[1:])
class Slow(PlaceExtractor):
    n_passes = 0
    def features(self, pictures):
        with (results / "passes").open("a") as file:
            file.write(f"{os.getpid()} {len(pictures)}\\n")
        self.n_passes += 1
        time.sleep(0.1)
        while self.n_passes == 3 and (results / "stop at the third").exists():
            time.sleep(0.01)
        return super().features(pictures)
source = open_source(folder)
print("ready", flush=True)
sys.stdin.readline()
found = extract(source, View(Slow(), (16, 16)), cache)
np.savez(results / f"{os.getpid()}.npz", matrix=found.matrix, patches=found.patches)
"""


@dataclass(frozen=True)
class Fillers:
    """Processes that fill one cache, and end with the test. results: what they read, and their passes."""

    folder: Path
    cache: Path
    results: Path
    stack: ExitStack

    def begin(self, n: int) -> list[subprocess.Popen[str]]:
        """So many processes, all at work from the same moment on."""
        processes = [self._start() for _ in range(n)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return processes

    def _start(self) -> subprocess.Popen[str]:
        words = [self.folder, self.cache, self.results]
        process = self.stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", FILLER, *map(str, words)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."]), "OMP_NUM_THREADS": "1"},
                cwd=Path(__file__).parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        self.stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def passes(self) -> dict[int, int]:
        """How many pictures each process computed."""
        counts: Counter[int] = Counter()
        for line in (self.results / "passes").read_text().splitlines():
            who, n_pictures = map(int, line.split())
            counts[who] += n_pictures
        return counts

    def check(self, process: subprocess.Popen[str]) -> None:
        """It read what one process alone computes."""
        alone = extract(open_source(self.folder), view_of(PlaceExtractor()), self.results / "own")
        with np.load(self.results / f"{process.pid}.npz") as found:
            np.testing.assert_array_equal(found["matrix"], alone.matrix)
            np.testing.assert_array_equal(found["patches"], alone.patches)


@pytest.fixture
def fillers(tmp_path: Path) -> Iterator[Fillers]:
    (tmp_path / "results").mkdir()
    with ExitStack() as stack:
        yield Fillers(make_folder(tmp_path / "data", N_PICTURES), tmp_path / "cache", tmp_path / "results", stack)


def test_processes_that_begin_together_compute_each_picture_once_and_read_the_same(fillers: Fillers) -> None:
    processes = fillers.begin(3)
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert sum(fillers.passes().values()) == N_PICTURES
    for process in processes:
        fillers.check(process)
    assert not list(fillers.cache.rglob("*.partial"))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_one_that_waits_goes_on_where_another_was_killed(fillers: Fillers) -> None:
    stop = fillers.results / "stop at the third"
    stop.touch()
    processes, end = fillers.begin(2), time.monotonic() + 60
    while not (fillers.results / "passes").exists() or sum(fillers.passes().values()) < 3 * BATCH:
        assert all(process.poll() is None for process in processes)
        assert time.monotonic() < end
        time.sleep(0.01)
    (at_work,) = fillers.passes()
    killed, waiting = sorted(processes, key=lambda process: process.pid != at_work)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait(60) != 0
    stop.unlink()
    assert waiting.wait(60) == 0
    assert fillers.passes()[waiting.pid] <= N_PICTURES - BATCH  # the first batch at least was not lost
    fillers.check(waiting)
