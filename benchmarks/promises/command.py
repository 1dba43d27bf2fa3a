"""The command: makes the runs that are missing, judges them, prints one table of all promises."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.promises.judge import JUDGED, Kept, judge, judge_share
from benchmarks.promises.runs import BUDGETS, Turn, make_runs, order_turns, path_of, read_run
from benchmarks.promises.summary import Judged, summarise
from benchmarks.promises.tables import Count
from benchmarks.promises.tasks import Cell, Source, find_sources
from soel.files import write_whole
from soel.settings import choose_profile


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
        n_there = sum(pool.map(_make, works))
        print(f"{n_there} of {len(works)} pools are there", file=sys.stderr)
        if arguments.make_only:
            return 0
        judged = [each for found in pool.map(_judge, works) for each in found]
    print(summarise(judged))
    return 0


def _make(work: _Work) -> bool:
    """The sessions of one pool, where they are missing and there is time; whether they are there."""
    if _is_missing(work) and work.plan.has_time:
        profile = choose_profile(work.plan.profile)
        asked = make_runs(work.source, work.turn, work.plan.budgets, profile, work.plan.folder) or {}
        kept = [[asdict(cell), [asdict(each) for each in judge_share(said)]] for cell, said in asked.items()]
        write_whole(work.asked_path, json.dumps(kept).encode())
    return not _is_missing(work)


def _judge(work: _Work) -> list[Judged]:
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
        from benchmarks.promises.sentences import judge_sentences  # here: a machine that only makes runs has no page

        run = read_run(path)
        write_whole(beside, json.dumps([asdict(each) for each in [*judge(run), *judge_sentences(run)]]).encode())
    return _read(json.loads(beside.read_text()))


def _read(kept: list[dict[str, Any]]) -> list[Kept]:
    return [Kept(**each | {"count": each["count"] and Count(**each["count"])}) for each in kept]


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
    parser.add_argument("--make-only", action="store_true", help="judge nothing; needs none of what the page needs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    return parser
