"""Faults at every call of a session that changes the disk: `python -m benchmarks.faults.harness SCRATCH [N ...]`.

Started with the shim preloaded. Each attempt is a fork: it works on a new session until its n-th call fails or ends it;
a second fork judges what is there, and goes on. Prints one JSON line for each attempt. N: which calls, all by default.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

SHIM = Path(__file__).with_name("shim.c")
FAULTS = {
    "no room, once": errno.ENOSPC,
    "no room from then on": -errno.ENOSPC,
    "input/output error": errno.EIO,
    "no permission": errno.EACCES,
    "death": -1,
}


def build_shim(folder: Path) -> Path | None:
    """The compiled shim; None where there is no compiler, or the system is not Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    made = folder / "shim.so"
    done = subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, SHIM, "-ldl"], capture_output=True)
    return made if done.returncode == 0 else None


def run(scratch: Path, shim: Path, calls: Iterable[int] = ()) -> Iterator[dict[str, Any]]:
    """The attempts, one after the other: fault, n, call (by name), raised, problems. The first says how many calls."""
    root = Path(__file__).parents[2]
    paths = [str(root), str(root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "benchmarks.faults.harness", str(scratch), str(shim), *map(str, calls)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield json.loads(line)
        except BaseException:  # whoever asked has seen enough
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise RuntimeError(f"The harness ended with code {process.returncode}.")


def tabulate(attempts: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    """By fault: how many attempts, how many met their fault, how they ended, what went wrong."""
    table: dict[str, Counter[str]] = {fault: Counter() for fault in FAULTS}
    for attempt in attempts:
        row = table[attempt["fault"]]
        row["points"] += 1
        row["met"] += bool(attempt["call"])
        row["told"] += attempt["raised"] == "told"
        row["not in words"] += attempt["raised"] == "raw"
        for problem in attempt["problems"]:
            row[problem.split(":")[0]] += 1
    return table


def main(scratch: Path, shim: ctypes.CDLL, calls: list[int]) -> None:
    """Be the process whose forks work and fail."""
    from tests.session.fake_learner import use_fake_learner

    from benchmarks.faults.judge import judge
    from benchmarks.faults.work import work, write_table

    use_fake_learner(pytest.MonkeyPatch())
    table, place = scratch / "table.csv", scratch / "place"
    write_table(table)
    judge([], scratch / "first" / "session", table, False)  # loads everything once, before the first fork
    shim.fault_last.restype = ctypes.c_char_p

    def attempt(n: int, action: int) -> list[list[str]]:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()

        def labour(note: Callable[..., None]) -> None:
            shim.fault_arm(f"{place}/".encode(), n, action)
            for _ in range(2 if action > 0 else 1):  # after a fault that passes, the next try goes on
                try:
                    work(place / "session", table, note)
                except Exception as error:
                    note("raise", _kind(error), traceback.format_exc() if _kind(error) == "raw" else str(error))
                    continue
                break
            note("call", shim.fault_last().decode(), str(shim.fault_seen()))

        return in_fork(labour)

    n_calls = int(next(line for line in attempt(0, 0) if line[0] == "call")[2])
    for n in calls or range(1, n_calls + 1):
        for fault, action in FAULTS.items():
            lines = attempt(min(n, n_calls), action)
            call = next((line[1] for line in lines if line[0] == "call"), "died")
            raised = [line[1] for line in lines if line[0] == "raise"]
            known = [(line[0], line[1], line[2]) for line in lines if line[0] in ("try", "ok")]
            is_tidy = action != -1 and call not in ("unlink", "rmdir")
            problems_of = partial(judge, known, place / "session", table, is_tidy)
            found = in_fork(partial(_note_all, problems_of))
            if not found or found[-1][0] != "end":
                found.append(["problem", "stuck: the judge died", ""])
            problems = [line[1] for line in found if line[0] in ("problem", "raise")]
            if len(raised) > 1:
                problems.append("stuck: the next try failed, too")
            how = "raw" if "raw" in raised else "told" if raised else ""
            words = [line[2] for line in lines if line[0] == "raise"]
            report = {"fault": fault, "n": n, "n_calls": n_calls, "call": call, "raised": how, "words": words}
            print(json.dumps(report | {"problems": problems}), flush=True)


def in_fork(work: Callable[[Callable[..., None]], object]) -> list[list[str]]:
    """What a fork of this process notes while it works, line by line; 'end' where it comes to its end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)

        def note(*words: str) -> None:
            os.write(writer, (json.dumps(words) + "\n").encode())

        try:
            work(note)
            note("end", "", "")
        except BaseException:
            note("raise", "raw", traceback.format_exc())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        lines = [json.loads(line) for line in said]
    os.waitpid(child, 0)
    return lines


def _note_all(problems_of: Callable[[], list[str]], note: Callable[..., None]) -> None:
    for problem in problems_of():
        note("problem", problem, "")


def _kind(error: Exception) -> str:
    from soel.errors import SoelError

    return "told" if isinstance(error, SoelError) else "raw"


if __name__ == "__main__":
    assert sysconfig.get_platform().startswith("linux")
    main(Path(sys.argv[1]), ctypes.CDLL(sys.argv[2]), [int(word) for word in sys.argv[3:]])
