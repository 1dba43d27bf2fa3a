"""The command: makes attempts, keeps them, prints the table."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.faults.harness import FAULTS, build_shim, run, tabulate

COLUMNS = ("points", "met", "told", "not in words", "lost", "half-written", "damaged", "left behind", "stuck")
FLOORS = {"unharmed share": 1.0}
Attempt = dict[str, Any]


def measure(calls: Sequence[int] = ()) -> dict[str, float]:
    attempts = list(_attempt(calls))
    _print_table(attempts)
    harmed = sum(bool(attempt["problems"]) for attempt in attempts)
    return {"calls": attempts[0]["n_calls"], "attempts": len(attempts), "unharmed share": 1 - harmed / len(attempts)}


def go_on(kept: Path, seconds: float) -> int:
    """Make the attempts that are not kept yet, for so long; 0 when all are there and none did harm, else 1."""
    attempts = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {attempt["n"] for attempt in attempts if attempt["fault"] == list(FAULTS)[-1]}
    n_calls = attempts[0]["n_calls"] if attempts else next(_attempt([1]))["n_calls"]
    missing = [n for n in range(1, n_calls + 1) if n not in done]
    attempts = [attempt for attempt in attempts if attempt["n"] in done]
    end = time.monotonic() + seconds
    with closing(_attempt(missing)) as coming:
        for attempt in coming if missing else ():
            attempts.append(attempt)
            if attempt["fault"] == list(FAULTS)[-1]:
                kept.write_text("".join(json.dumps(each) + "\n" for each in attempts))
                if time.monotonic() > end:
                    break
    _print_table(attempts)
    print(f"{len(attempts)} of {n_calls * len(FAULTS)} attempts are made.")
    return 0 if len(attempts) == n_calls * len(FAULTS) and not any(each["problems"] for each in attempts) else 1


def _attempt(calls: Sequence[int]) -> Generator[Attempt]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        shim = build_shim(Path(scratch))
        assert shim is not None, "faults are injected on Linux, with a C compiler"
        yield from run(Path(scratch), shim, calls)


def _print_table(attempts: Sequence[Attempt]) -> None:
    table = tabulate(attempts)
    print(f"{'fault':22s}" + "".join(f"{name:>14s}" for name in COLUMNS))
    for fault in FAULTS:
        print(f"{fault:22s}" + "".join(f"{table[fault][name]:14d}" for name in COLUMNS))
    for attempt in attempts:
        if attempt["problems"]:
            print(f"{attempt['fault']}, call {attempt['n']} ({attempt['call']}): {attempt['problems']}")
