"""Mutated files for every reader of tables and arrays: each is read or refused, in bounded memory and time.

`python -m benchmarks fuzz`: 2,000 files a reader. A child process reads them under limits of memory and processor time,
so that a file that takes too much is found, too. Seeds are the number of the file: a defect can be made again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from soel.data.reading.options import ReadOptions
from soel.data.tables import read_table
from soel.errors import SoelError

N_FILES, BATCH = 2000, 250  # a child reads a batch: Arrow's streams keep some address space of every damaged file
MEMORY, SECONDS = 3 << 30, 20  # of the child; one file may take so many seconds
FLOORS = {"files": 1.0, "hundred_less_defects": 100.0}
NAMES = (
    "t.csv", "t.tsv", "t.csv.gz", "t.csv.bz2", "t.csv.zst", "t.zip", "t.jsonl", "t.parquet", "t.feather", "t.xlsx",
    "t.sqlite", "t.npy", "t.npz",
)  # fmt: skip


def honest(name: str, folder: Path) -> bytes:
    """A small file that reads, to be mutated."""
    import pandas as pd

    table = pd.DataFrame(
        {
            "n": [1.5, 2.25, -3.0] * 9,
            "preis": ["1.234,50 €", "12,00 €", "n/a"] * 9,
            "when": ["31.12.2024 10:00", "01.02.2024 23:59", ""] * 9,
            "word": ["red", "blue, dark", 'say "no"'] * 9,
        }
    )
    path = folder / name
    writers: dict[str, Callable[[], Any]] = {
        "t.jsonl": lambda: table.to_json(path, orient="records", lines=True),
        "t.parquet": lambda: table.to_parquet(path),
        "t.feather": lambda: table.to_feather(path),
        "t.xlsx": lambda: table.to_excel(path, index=False),
        "t.npy": lambda: np.save(path, np.arange(60.0).reshape(20, 3)),
        "t.npz": lambda: np.savez_compressed(path, X=np.arange(60.0).reshape(20, 3), y=np.zeros(20)),
        "t.sqlite": lambda: _as_sqlite(table, path),
        "t.csv.zst": lambda: _as_zstd(table.to_csv(index=False).encode(), path),
        "t.tsv": lambda: table.to_csv(path, index=False, sep="\t"),
        "t.zip": lambda: table.to_csv(path, index=False, compression={"method": "zip", "archive_name": "t.csv"}),
    }
    writers.get(name, lambda: table.to_csv(path, index=False))()
    return path.read_bytes()


def _as_sqlite(table: Any, path: Path) -> None:
    import sqlite3

    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        table.to_sql("t", connection, index=False)
    connection.close()


def _as_zstd(content: bytes, path: Path) -> None:
    import pyarrow as pa

    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(content)


def mutate(content: bytes, seed: int) -> bytes:
    """Bytes flipped, cut out, doubled, cut off, or replaced by what is known to hurt."""
    rng = np.random.default_rng(seed)
    changed = bytearray(content)
    hurts = (
        b"\0",
        b"\xff\xfe",
        b'"',
        b"\n",
        b",,,,",
        b"1e999",
        b"NaN",
        b"\x1b[2J",
        b"9" * 400,
        b"\xe2\x80\xae",
        b"=1+1",
    )
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, max(len(changed), 1)))
        size = int(rng.integers(1, 30))
        way = int(rng.integers(0, 5))
        if way == 0 and changed:
            changed[at] = int(rng.integers(0, 256))
        elif way == 1:
            del changed[at : at + size]
        elif way == 2:
            changed[at:at] = changed[at : at + size] * int(rng.integers(1, 20))
        elif way == 3:
            changed = changed[:at] if rng.random() < 0.3 else changed
        else:
            changed[at : at + int(rng.integers(0, 4))] = hurts[int(rng.integers(0, len(hurts)))]
    return bytes(changed)


def read_one(path: Path) -> str:
    """'read', 'refused', or what is a defect: an error that is none of ours, a message of several lines."""
    try:
        read_table(path, options=ReadOptions(max_unpacked=1 << 26))
    except SoelError as error:
        text = str(error)
        if "\x1b" in text or "\0" in text:
            return f"defect: a message that a terminal obeys: {text!r}"
        return "refused"
    except BaseException as error:
        return f"defect: {type(error).__name__}: {error}"
    return "read"


def child(name: str, first: int, n_files: int) -> int:
    """Read mutated files under limits; one line of JSON at the end."""
    import resource
    import signal

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        content = honest(name, folder)
        read_one(folder / name)  # packages are loaded before memory is limited
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        counts, defects, slowest = {"read": 0, "refused": 0}, [], 0.0
        for seed in range(first, first + n_files):
            (folder / name).write_bytes(mutate(content, seed))
            signal.alarm(SECONDS * 6)  # a machine may be busy: processor time is what counts
            began = time.process_time()
            said = read_one(folder / name)
            slowest = max(slowest, time.process_time() - began)
            if said in counts:
                counts[said] += 1
            else:
                defects.append(f"{name} seed {seed}: {said}"[:500])
        signal.alarm(0)
    print(json.dumps({**counts, "defects": defects, "slowest": slowest}))
    return 0


def run(name: str, first: int, n_files: int) -> dict[str, Any]:
    """Read files in a child process; one that dies is a defect."""
    words = [sys.executable, "-m", "benchmarks.fuzz", name, str(first), str(n_files)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        return {
            "read": 0,
            "refused": 0,
            "defects": [f"{name}: the reader died ({done.returncode}): {last}"],
            "slowest": 0.0,
        }
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if found["slowest"] > SECONDS:
        found["defects"].append(f"{name}: one file took {found['slowest']:.0f} s")
    return found


def _together(batches: list[dict[str, Any]]) -> dict[str, Any]:
    counts = {key: sum(batch[key] for batch in batches) for key in ("read", "refused")}
    defects = [defect for batch in batches for defect in batch["defects"]]
    return {**counts, "defects": defects, "slowest": max(batch["slowest"] for batch in batches)}


def measure(n_files: int = N_FILES) -> dict[str, float]:
    """Print a line a reader."""
    total = n_defects = 0
    print(f"{'reader':12s} {'files':>6s} {'read':>6s} {'refused':>8s} {'defects':>8s} {'slowest':>8s}")
    for name in NAMES:
        found = _together([run(name, first, min(BATCH, n_files - first)) for first in range(0, n_files, BATCH)])
        n_bad = len(found["defects"])
        total, n_defects = total + n_files, n_defects + n_bad
        figures = f"{found['read']:6d} {found['refused']:8d} {n_bad:8d} {found['slowest']:7.2f}s"
        print(f"{name:12s} {n_files:6d} {figures}", flush=True)
        for defect in found["defects"][:5]:
            print(f"  {defect}")
    return {"files": float(total), "hundred_less_defects": 100.0 - n_defects}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("first", type=int)
    parser.add_argument("n_files", type=int)
    given = parser.parse_args()
    sys.exit(child(given.name, given.first, given.n_files))
