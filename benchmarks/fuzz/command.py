"""Runs the attacks in child processes, and prints what came of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

N_FILES = 2000
BATCH, TABLES = 1000, 250  # a child reads a batch, of tables a small one: Arrow keeps address space of damaged files
FLOORS = {"files": 1.0, "hundred_less_defects": 100.0}
ROOT = Path(__file__).parents[2]
HEAD = f"{'reader':18s} {'files':>6s} {'read':>6s} {'refused':>8s} {'defects':>8s} {'slowest':>8s}"
Batch = tuple[str, int, int]  # reader, first seed, how many files
NAMES = (
    "t.csv", "t.tsv", "t.csv.gz", "t.csv.bz2", "t.csv.zst", "t.zip", "t.jsonl", "t.json", "t.parquet", "t.feather",
    "t.xlsx", "t.sqlite", "t.npy", "t.npz",
    "p.png", "p.jpg", "p.tif", "p.bmp", "p.webp", "p.npz", "idx3-ubyte.gz", "c.mp4", "c.avi", "c.mkv", "n.onnx",
    "session", "model", "labels.csv", "labels.json", "labels.xlsx", "labels.parquet", "label-studio.json", "coco.json",
    "sheet", "http bytes", "http api",
)  # fmt: skip


def run(name: str, first: int, n_files: int) -> dict[str, Any]:
    """Read files in a child process; one that dies is a defect."""
    words = [sys.executable, "-m", "benchmarks.fuzz.child", name, str(first), str(n_files)]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    lines = done.stdout.strip().splitlines() or ["before the first file"]
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        defect = f"{name} {lines[-1]}: the reader died ({done.returncode}): {why}"
        return {"read": 0, "refused": 0, "defects": [defect], "slowest": 0.0}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def measure(n_files: int = N_FILES, first: int = 0, names: Sequence[str] = NAMES) -> dict[str, float]:
    """Attack every reader and print a line for each."""
    total = n_defects = 0
    print(HEAD)
    for name in names:
        found = _together([run(*batch) for batch in _batches([name], first, n_files)])
        _print_line(name, found)
        total, n_defects = total + _count(found), n_defects + len(found["defects"])
    return {"files": float(total), "hundred_less_defects": 100.0 - n_defects}


def go_on(kept: Path, seconds: float, n_files: int, first: int, names: Sequence[str]) -> int:
    """Attack with the batches that are not kept yet, for so long; 0 when all are there and show no defect, else 1."""
    done: dict[Batch, dict[str, Any]] = {}
    for line in kept.read_text().splitlines() if kept.exists() else ():
        name, start, n, found = json.loads(line)
        done[name, start, n] = found
    wanted = _batches(names, first, n_files)
    end = time.monotonic() + seconds
    for batch in wanted:
        if batch in done:
            continue
        if time.monotonic() > end:
            break
        done[batch] = run(*batch)
        with kept.open("a") as file:
            file.write(json.dumps([*batch, done[batch]]) + "\n")
    print(HEAD)
    for name in names:
        if found := [done[batch] for batch in wanted if batch[0] == name and batch in done]:
            _print_line(name, _together(found))
    n_missing = sum(batch not in done for batch in wanted)
    print(f"{len(wanted) - n_missing} of {len(wanted)} batches are read.")
    return int(n_missing > 0 or any(done[batch]["defects"] for batch in wanted))


def _batches(names: Sequence[str], first: int, n_files: int) -> list[Batch]:
    sizes = {name: TABLES if name.startswith("t.") else BATCH for name in names}
    starts = ((name, start) for name in names for start in range(first, first + n_files, sizes[name]))
    return [(name, start, min(sizes[name], first + n_files - start)) for name, start in starts]


def _print_line(name: str, found: dict[str, Any]) -> None:
    figures = f"{found['read']:6d} {found['refused']:8d} {len(found['defects']):8d} {found['slowest']:7.2f}s"
    print(f"{name:18s} {_count(found):6d} {figures}", flush=True)
    for defect in found["defects"][:20]:
        print(f"  {defect}")


def _count(found: dict[str, Any]) -> int:
    return int(found["read"] + found["refused"] + len(found["defects"]))


def _together(batches: list[dict[str, Any]]) -> dict[str, Any]:
    counts = {key: sum(batch[key] for batch in batches) for key in ("read", "refused")}
    defects = [defect for batch in batches for defect in batch["defects"]]
    return {**counts, "defects": defects, "slowest": max(batch["slowest"] for batch in batches)}
