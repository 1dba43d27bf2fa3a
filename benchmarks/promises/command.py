"""The command: makes the runs that are missing, judges them, prints one table of all promises."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.promises.judge import Kept, judge
from benchmarks.promises.runs import BUDGETS, make_runs, path_of, read_run
from benchmarks.promises.tasks import SHARES, Source, find_sources
from soel.profiles import find_profile
from soel.report.text import format_table


def main(words: Sequence[str]) -> int:
    """Make, judge, print."""
    arguments = _parser().parse_args(words)
    sources = find_sources(arguments.data_dir)[arguments.first :: arguments.every]
    budgets = [int(word) for word in arguments.budgets.split(",")]
    folder = arguments.runs / arguments.profile
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + arguments.seconds
    work = [(source, budgets, arguments.profile, folder, until) for source in sources]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        cells = [cell for found in pool.map(_of_source, work) for cell in found]
    print(summarise(cells))
    return 0


Cell = tuple[Source, float, int, list[Kept]]


def _of_source(work: tuple[Source, list[int], str, Path, float]) -> list[Cell]:
    """The judged runs of one file; those missing are made while there is time."""
    source, budgets, profile, folder, until = work
    if time.monotonic() < until:
        make_runs(source, budgets, find_profile(profile), folder)
    found = []
    for share in SHARES:
        for budget in budgets:
            path = path_of(folder, source, share, budget)
            if path.exists():
                found.append((source, share, budget, _judged(path, until)))
    return [cell for cell in found if cell[3]]


def _judged(path: Path, until: float) -> list[Kept]:
    """What was said of a run, kept beside it."""
    beside = path.with_suffix(".json")
    if beside.exists() and beside.stat().st_mtime >= path.stat().st_mtime:
        return [Kept(**kept) for kept in json.loads(beside.read_text())]
    if time.monotonic() > until:
        return []
    kept = judge(read_run(path))
    beside.write_text(json.dumps([asdict(each) for each in kept]))
    return kept


def summarise(cells: Sequence[Cell]) -> str:
    """Every promise over all runs, and by kind of table, share and number of labels."""
    tables = len({source.name for source, *_ in cells})
    parts = [f"{tables} tables, {len(cells)} runs", _overview(cells)]
    for title, key in (("kind of table", 0), ("share", 1), ("labels", 2)):
        parts.append(_by(cells, title, key))
    return "\n\n".join(parts)


def _overview(cells: Sequence[Cell]) -> str:
    by_promise: dict[str, dict[str, list[Kept]]] = defaultdict(lambda: defaultdict(list))
    for source, _, _, kept in cells:
        for each in kept:
            by_promise[each.promise][source.name].append(each)
    rows = []
    for promise, by_table in by_promise.items():
        means = np.array([np.mean([each.realised for each in kept]) for kept in by_table.values()])
        width = np.mean([each.width for kept in by_table.values() for each in kept])
        bound = _bound(promise)
        within = "" if bound is None else f"{np.mean(means <= bound):.0%}"
        rows.append([promise, _nominal(promise), f"{_mean(cells, promise):.1%}", within, f"{width:.3f}"])
    return format_table(["promise", "nominal", "realised", "tables within", "mean width or length"], rows)


def _by(cells: Sequence[Cell], title: str, key: int) -> str:
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[str(cell[0].group if key == 0 else cell[key])].append(cell)
    promises = list(dict.fromkeys(each.promise for *_, kept in cells for each in kept))
    rows = [[promise, *(f"{_mean(group, promise):.1%}" for group in groups.values())] for promise in promises]
    return format_table([f"realised by {title}", *groups], rows)


def _mean(cells: Sequence[Cell], promise: str) -> float:
    found = [each.realised for *_, kept in cells for each in kept if each.promise == promise]
    return float(np.mean(found)) if found else float("nan")


def _bound(promise: str) -> float | None:
    words = promise.split(",")[0].split()
    return float(words[-1].rstrip("%")) / 100 if words[-1].endswith("%") else None


def _nominal(promise: str) -> str:
    bound = _bound(promise)
    if bound is not None:
        return f"<= {bound:.0%}"
    return "0" if promise.startswith("calibration") else ">= 80 %"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks promises", description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("SOEL_DATA", ".")), metavar="DIR")
    parser.add_argument("--runs", type=Path, default=Path("build/promises"), help="finished runs, a file each")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), metavar="A,B", help="numbers of labels")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="start with this table")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take one table of so many")
    parser.add_argument("--seconds", type=float, default=3600, help="start nothing new after this; call again to go on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    return parser
