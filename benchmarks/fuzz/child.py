"""A process that reads spoilt files under limits of memory and time: `python -m benchmarks.fuzz.child READER FIRST N`.

Half of the files are mutated by their seed, half are made by hypothesis with the first seed. Prints the number of each
file before it is read, so that the one that ended the process is known, and one line of JSON at the end.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase

from benchmarks.fuzz.mutation import mutate
from benchmarks.fuzz.readers import find_reader
from benchmarks.fuzz.target import Target
from soel.errors import SoelError

MEMORY, SECONDS = 2 << 30, 20  # more than the honest file took; one file may take so many seconds
PATIENCE = 6  # a machine may be busy: processor time is what counts, and the clock only ends what hangs


class Attack:
    """Reads one spoilt file after the other and remembers how each ended."""

    def __init__(self, name: str, target: Target) -> None:
        self._name, self._target = name, target
        self.counts, self.slowest = {"read": 0, "refused": 0}, 0.0
        self.defects: list[str] = []

    def mutated(self, first: int, n: int) -> None:
        """Files whose bytes are changed, each by its own seed."""
        for seed in range(first, first + n):
            paths = list(self._target.files)
            path = paths[seed // 2 % len(paths)]
            path.write_bytes(mutate(self._target.files[path], seed))
            self._read(path, f"seed {seed}", with_mend=seed % 2 == 1)

    def made(self, first: int, n: int) -> None:
        """Files that hypothesis makes."""
        if not n:
            return
        number = iter(range(n))

        @hypothesis.seed(first)
        @hypothesis.settings(
            max_examples=n,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(self._target.made, hypothesis.strategies.booleans())
        def each(made: Any, with_mend: bool) -> None:
            self._read(self._target.put(made), f"made {first} number {next(number, n)}", with_mend)

        each()

    def _read(self, path: Path, what: str, with_mend: bool) -> None:
        if with_mend and self._target.mend is not None:
            self._target.mend()
        print(what, flush=True)
        signal.alarm(SECONDS * PATIENCE)
        began = time.process_time()
        said = [judge(step, path, self._target.names) for step in self._target.read]
        took = time.process_time() - began
        signal.alarm(0)
        self.slowest = max(self.slowest, took)
        bad = [each for each in said if each not in self.counts]
        bad += [f"defect: it took {took:.0f} s"] if took > SECONDS else []
        if bad:
            self.defects.append(f"{self._name} {what} ({path.name}): {'; '.join(dict.fromkeys(bad))}"[:900])
        else:
            self.counts["refused" if "refused" in said else "read"] += 1
        for file, content in self._target.files.items():
            file.write_bytes(content)


def judge(step: Any, path: Path, names: tuple[str, ...]) -> str:
    """'read', 'refused', or what is a defect: an error that is none of ours, or a message that is no clean line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step(path)
    except SoelError as error:
        text = str(error)
        if any(mark in text for mark in ("\x1b", "\0", "\n")):
            return f"defect: a message that a terminal obeys: {text!r}"
        if names and not any(name in text for name in names):
            return f"defect: {type(error).__name__} does not name the file: {text!r}"
        return "refused"
    except BaseException as error:
        return f"defect: {type(error).__name__}: {error} at {_place(error)}"
    return "read"


def _place(error: BaseException) -> str:
    """The last line of ours that the error came through."""
    trace, last = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/soel/" in file:
            last = f"{Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return last


def main(name: str, first: int, n_files: int) -> None:
    """Read so many files."""
    with tempfile.TemporaryDirectory() as place:
        target = find_reader(name)(Path(place))
        attack = Attack(name, target)
        for path in list(target.files)[:1]:
            said = [judge(step, path, target.names) for step in target.read]  # loads packages before memory is limited
            assert set(said) == {"read"}, f"the honest file is not read: {said}"
        limit = _address_space() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        n_mutated = (n_files + 1) // 2 if target.files else 0
        attack.mutated(first, n_mutated)
        attack.made(first, n_files - n_mutated)
    print(json.dumps({**attack.counts, "defects": attack.defects, "slowest": attack.slowest}))


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
