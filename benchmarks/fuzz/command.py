"""Runs the attacks in child processes, and prints what came of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

N_FILES, BATCH = 2000, 500  # a child reads a batch: Arrow's streams keep some address space of every damaged file
FLOORS = {"files": 1.0, "hundred_less_defects": 100.0}
ROOT = Path(__file__).parents[2]
NAMES = (
    "t.csv", "t.tsv", "t.csv.gz", "t.csv.bz2", "t.csv.zst", "t.zip", "t.jsonl", "t.parquet", "t.feather", "t.xlsx",
    "t.sqlite", "t.npy", "t.npz",
    "p.png", "p.jpg", "p.tif", "p.bmp", "p.webp", "p.npz", "idx3-ubyte.gz", "c.mp4", "c.avi", "c.mkv", "n.onnx",
    "session", "model", "labels.csv", "labels.json", "label-studio.json", "sheet",
    "http bytes", "http api",
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
    """Print a line a reader."""
    total = n_defects = 0
    print(f"{'reader':18s} {'files':>6s} {'read':>6s} {'refused':>8s} {'defects':>8s} {'slowest':>8s}")
    for name in names:
        batches = range(first, first + n_files, BATCH)
        found = _together([run(name, start, min(BATCH, first + n_files - start)) for start in batches])
        n_bad = len(found["defects"])
        n_read = found["read"] + found["refused"] + n_bad
        total, n_defects = total + n_read, n_defects + n_bad
        figures = f"{found['read']:6d} {found['refused']:8d} {n_bad:8d} {found['slowest']:7.2f}s"
        print(f"{name:18s} {n_read:6d} {figures}", flush=True)
        for defect in found["defects"][:20]:
            print(f"  {defect}")
    return {"files": float(total), "hundred_less_defects": 100.0 - n_defects}


def _together(batches: list[dict[str, Any]]) -> dict[str, Any]:
    counts = {key: sum(batch[key] for batch in batches) for key in ("read", "refused")}
    defects = [defect for batch in batches for defect in batch["defects"]]
    return {**counts, "defects": defects, "slowest": max(batch["slowest"] for batch in batches)}
