"""The command: makes the runs that are missing, judges them, prints one table of all promises."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.promises.judge import JUDGED, Kept, judge, judge_share
from benchmarks.promises.runs import BUDGETS, ask_shares, make_run, order_cells, path_of, read_run
from benchmarks.promises.sentences import judge_sentences
from benchmarks.promises.tasks import Cell, Source, find_sources
from soel.profiles import find_profile
from soel.report.text import format_table


@dataclass(frozen=True)
class Judged:
    """What was said of one session, and whether it was so."""

    source: Source
    cell: Cell
    kept: list[Kept]


@dataclass(frozen=True)
class _Plan:
    """What every process is told. until: by the clock; nothing new is started after it."""

    folder: Path
    profile: str
    budgets: tuple[int, ...]
    until: float
    sentences: bool = False

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self.until


def main(words: Sequence[str]) -> int:
    """Make, judge, print."""
    arguments = _parser().parse_args(words)
    sources = list(enumerate(find_sources(arguments.data_dir)))[arguments.first :: arguments.every]
    budgets = tuple(int(word) for word in arguments.budgets.split(","))
    folder = arguments.runs / arguments.profile
    folder.mkdir(parents=True, exist_ok=True)
    plan = _Plan(folder, arguments.profile, budgets, time.monotonic() + arguments.seconds, arguments.sentences)
    orders = [(source, order_cells(index, budgets)) for index, source in sources]
    fits = [(plan, source, cells[turn]) for turn in range(arguments.passes) for source, cells in orders]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        asked = [] if plan.sentences else [(plan, source) for _, source in sources]
        shares = [each for found in pool.map(_ask, asked) for each in found]
        fitted = [each for each in pool.map(_fit, fits) if each is not None]
    print(summarise([*shares, *fitted]))
    return 0


def _ask(work: tuple[_Plan, Source]) -> list[Judged]:
    """The share of every cell of a file, kept in one file."""
    plan, source = work
    path = plan.folder / f"{source.name}-shares-{'-'.join(map(str, plan.budgets))}.json"
    if not path.exists():
        if not plan.has_time:
            return []
        asked = ask_shares(source, plan.budgets, find_profile(plan.profile))
        found = [Judged(source, cell, judge_share(*said)) for cell, said in asked.items()]
        path.write_text(json.dumps([[asdict(each.cell), [asdict(kept) for kept in each.kept]] for each in found]))
    return [Judged(source, Cell(**cell), _read(kept)) for cell, kept in json.loads(path.read_text())]


def _fit(work: tuple[_Plan, Source, Cell]) -> Judged | None:
    """One session, fitted and judged; None where the file has too few rows or the time is over."""
    plan, source, cell = work
    path = path_of(plan.folder, source, cell)
    if not path.exists() and (not plan.has_time or not make_run(source, cell, find_profile(plan.profile), plan.folder)):
        return None
    if plan.sentences:
        return Judged(source, cell, judge_sentences(read_run(path), seed=round(1000 * cell.share) + cell.budget))
    beside = path.with_suffix(f".judged-{JUDGED}.json")
    if not beside.exists():
        beside.write_text(json.dumps([asdict(each) for each in judge(read_run(path))]))
    return Judged(source, cell, _read(json.loads(beside.read_text())))


def _read(kept: list[dict[str, float]]) -> list[Kept]:
    return [Kept(**each) for each in kept]  # type: ignore[arg-type]


def summarise(judged: Sequence[Judged]) -> str:
    """Every promise over all runs, and by kind of table, share and number of labels."""
    tables = len({each.source.name for each in judged})
    parts = [f"{tables} tables, {len(judged)} runs", _overview(judged)]
    by_kind, by_share, by_budget = defaultdict(list), defaultdict(list), defaultdict(list)
    for each in judged:
        by_kind[each.source.group].append(each)
        by_share[f"{each.cell.share:.0%}"].append(each)
        by_budget[f"{each.cell.budget} labels"].append(each)
    for title, groups in (("kind of table", by_kind), ("share", by_share), ("labels", by_budget)):
        parts.append(_by(judged, title, groups))
    return "\n\n".join(parts)


def _overview(judged: Sequence[Judged]) -> str:
    rows = []
    for promise in _promises(judged):
        by_table: dict[str, list[Kept]] = defaultdict(list)
        for each, kept in _of(judged, promise):
            by_table[each.source.name].append(kept)
        means = np.array([np.mean([kept.realised for kept in of_one]) for of_one in by_table.values()])
        width = np.mean([kept.width for of_one in by_table.values() for kept in of_one])
        first = next(iter(by_table.values()))[0]
        within = "" if first.most is None else f"{np.mean(means <= first.most):.0%}"
        n = f"{sum(map(len, by_table.values())):,}"
        rows.append([promise, first.nominal, f"{_mean(judged, promise):.1%}", within, f"{width:.3f}", n])
    return format_table(["promise", "nominal", "realised", "tables within", "mean width or length", "cases"], rows)


def _by(judged: Sequence[Judged], title: str, groups: dict[str, list[Judged]]) -> str:
    means = {promise: [_mean(group, promise) for group in groups.values()] for promise in _promises(judged)}
    rows = [[promise, *(f"{mean:.1%}" for mean in found)] for promise, found in means.items()]
    return format_table([f"realised by {title}", *groups], rows)


def _promises(judged: Sequence[Judged]) -> list[str]:
    return list(dict.fromkeys(kept.promise for each in judged for kept in each.kept))


def _of(judged: Sequence[Judged], promise: str) -> Iterator[tuple[Judged, Kept]]:
    return ((each, kept) for each in judged for kept in each.kept if kept.promise == promise)


def _mean(judged: Sequence[Judged], promise: str) -> float:
    found = [kept.realised for _, kept in _of(judged, promise)]
    return float(np.mean(found)) if found else float("nan")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks promises", description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("SOEL_DATA", ".")), metavar="DIR")
    parser.add_argument("--runs", type=Path, default=Path("build/promises"), help="finished runs, a file each")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), metavar="A,B", help="numbers of labels")
    parser.add_argument("--passes", type=int, default=4, metavar="N", help="fits of each table; 12 for all of them")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="start with this table")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take one table of so many")
    parser.add_argument("--sentences", action="store_true", help="judge the results page's sentences, as it words them")
    parser.add_argument("--seconds", type=float, default=3600, help="start nothing new after this; call again to go on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    return parser
