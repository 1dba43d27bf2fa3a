"""The n-th call of a session that changes the disk fails or ends the process, for every n: nothing may be lost.

`python -m benchmarks faults`. Below Python, so SQLite's own writes, syncs and renames are among the calls. Each fault
is met on a session of its own; afterwards all that was acknowledged is there, nothing half-written, and work goes on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.faults.harness import FAULTS, build_shim, run, tabulate

COLUMNS = ("points", "met", "told", "not in words", "lost", "half-written", "damaged", "left behind", "stuck")
FLOORS = {"unharmed share": 1.0}


def measure(calls: Sequence[int] = ()) -> dict[str, float]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        shim = build_shim(Path(scratch))
        assert shim is not None, "faults are injected on Linux, with a C compiler"
        attempts = list(run(Path(scratch), shim, calls))
    table = tabulate(attempts)
    print(f"{'fault':22s}" + "".join(f"{name:>14s}" for name in COLUMNS))
    for fault in FAULTS:
        print(f"{fault:22s}" + "".join(f"{table[fault][name]:14d}" for name in COLUMNS))
    for attempt in attempts:
        if attempt["problems"]:
            print(f"{attempt['fault']}, call {attempt['n']} ({attempt['call']}): {attempt['problems']}")
    harmed = sum(bool(attempt["problems"]) for attempt in attempts)
    return {"calls": attempts[0]["n_calls"], "attempts": len(attempts), "unharmed share": 1 - harmed / len(attempts)}
