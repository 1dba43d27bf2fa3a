"""The command: makes the runs that are missing, judges them, prints one table of all promises."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.promises.judge import JUDGED, Kept, judge, judge_share
from benchmarks.promises.runs import BUDGETS, Turn, make_runs, order_turns, path_of, read_run
from benchmarks.promises.sentences import judge_sentences
from benchmarks.promises.tasks import Cell, Source, find_sources
from soel.durable import write_whole
from soel.profiles import find_profile
from soel.report.text import format_table

SHARE = "share, no check"


@dataclass(frozen=True)
class Judged:
    """What was said of one session, and whether it was so. half: 1 of tables that no constant was chosen on, else 0."""

    source: Source
    half: int
    cell: Cell
    kept: list[Kept]


@dataclass(frozen=True)
class _Plan:
    """What every process is told. until: by the clock; nothing new is started after it."""

    folder: Path
    profile: str
    budgets: tuple[int, ...]
    until: float

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self.until


@dataclass(frozen=True)
class _Work:
    """One pool. index: the table's number among all."""

    plan: _Plan
    index: int
    source: Source
    turn: Turn

    @property
    def asked_path(self) -> Path:
        budgets = "-".join(map(str, self.plan.budgets))
        return self.plan.folder / f"{self.source.name}-{self.turn.share:g}-asked-{budgets}.json"

    def fitted_paths(self) -> Iterator[tuple[Cell, Path]]:
        for budget in self.turn.fitted:
            cell = Cell(self.turn.share, budget)
            yield cell, path_of(self.plan.folder, self.source, cell)

    def judged(self, cell: Cell, kept: Sequence[Kept]) -> Judged:
        return Judged(self.source, self.index % 2, cell, list(kept))


def main(words: Sequence[str]) -> int:
    """Make, judge, print."""
    arguments = _parser().parse_args(words)
    sources = list(enumerate(find_sources(arguments.data_dir)))[arguments.first :: arguments.every]
    budgets = tuple(int(word) for word in arguments.budgets.split(","))
    folder = arguments.runs / arguments.profile
    folder.mkdir(parents=True, exist_ok=True)
    plan = _Plan(folder, arguments.profile, budgets, time.monotonic() + arguments.seconds)
    orders = [(index, source, order_turns(index, budgets, arguments.fits)) for index, source in sources]
    works = [_Work(plan, index, source, turns[at]) for at in range(arguments.passes) for index, source, turns in orders]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        judged = [each for found in pool.map(_do, works) for each in found]
    print(summarise(judged))
    return 0


def _do(work: _Work) -> list[Judged]:
    """The sessions of one pool, made where they are missing and there is time, judged."""
    if _is_missing(work) and work.plan.has_time:
        profile = find_profile(work.plan.profile)
        asked = make_runs(work.source, work.turn, work.plan.budgets, profile, work.plan.folder) or {}
        kept = [[asdict(cell), [asdict(each) for each in judge_share(said)]] for cell, said in asked.items()]
        write_whole(work.asked_path, json.dumps(kept).encode())
    if not work.asked_path.exists():
        return []
    shares = [work.judged(Cell(**cell), _read(kept)) for cell, kept in json.loads(work.asked_path.read_text())]
    return shares + [work.judged(cell, _judge_run(path)) for cell, path in work.fitted_paths() if path.exists()]


def _is_missing(work: _Work) -> bool:
    if not work.asked_path.exists():
        return True
    was_possible = json.loads(work.asked_path.read_text())
    return bool(was_possible) and not all(path.exists() for _, path in work.fitted_paths())


def _judge_run(path: Path) -> list[Kept]:
    beside = path.with_suffix(f".judged-{JUDGED}.json")
    if not beside.exists():
        run = read_run(path)
        write_whole(beside, json.dumps([asdict(each) for each in [*judge(run), *judge_sentences(run)]]).encode())
    return _read(json.loads(beside.read_text()))


def _read(kept: list[dict[str, float]]) -> list[Kept]:
    return [Kept(**each) for each in kept]  # type: ignore[arg-type]


def summarise(judged: Sequence[Judged]) -> str:
    """Every promise over all sessions, then by kind of table, share, number of labels and half of the tables."""
    tables = len({each.source.name for each in judged})
    sessions = len({(each.source.name, each.cell) for each in judged})
    groups: dict[str, list[Judged]] = {}
    names: tuple[Callable[[Judged], str], ...] = (
        lambda each: each.source.group,
        lambda each: f"{each.cell.share:.0%}",
        lambda each: f"{each.cell.budget} labels",
        lambda each: ("chosen on", "others")[each.half],
    )
    for name in names:
        groups |= _group(judged, name)
    parts = [f"{tables} tables, {sessions} sessions", _overview(judged), _by(judged, groups), _cross(judged)]
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


def _by(judged: Sequence[Judged], groups: dict[str, list[Judged]]) -> str:
    means = {promise: [_mean(group, promise) for group in groups.values()] for promise in _promises(judged)}
    rows = [[promise, *(f"{mean:.1%}" for mean in found)] for promise, found in means.items()]
    return format_table(["realised by", *groups], rows)


def _cross(judged: Sequence[Judged]) -> str:
    """How often the share's interval holds: kinds of tables by shares and labels."""
    cells = sorted({(each.cell.share, each.cell.budget) for each in judged})
    rows = []
    for kind, group in _group(judged, lambda each: each.source.group).items():
        of_cells = [[each for each in group if (each.cell.share, each.cell.budget) == cell] for cell in cells]
        rows.append([kind, *(f"{_mean(found, SHARE):.0%}" for found in of_cells)])
    return format_table([SHARE, *(f"{share:.0%}, {budget}" for share, budget in cells)], rows)


def _group(judged: Sequence[Judged], name: Callable[[Judged], str]) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for each in judged:
        groups[name(each)].append(each)
    return groups


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
    parser.add_argument(
        "--passes", type=int, default=4, metavar="N", help="pools of each table, one a share; at most 4"
    )
    parser.add_argument(
        "--fits", type=int, default=1, metavar="N", help="numbers of labels that each pool is fitted with"
    )
    parser.add_argument("--first", type=int, default=0, metavar="N", help="start with this table")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take one table of so many")
    parser.add_argument("--seconds", type=float, default=3600, help="start nothing new after this; call again to go on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    return parser
