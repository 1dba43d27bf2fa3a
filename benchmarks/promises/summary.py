"""What was promised and what came true, over all sessions and by groups of them, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.promises.judge import Kept
from benchmarks.promises.tables import Count, Verdict, judge_runs
from benchmarks.promises.tasks import Cell, Source
from soel.text import format_table

SHARE = "share, no check"


@dataclass(frozen=True)
class Judged:
    """What was said of one session, and whether it was so. half: 1 of tables that no constant was chosen on, else 0."""

    source: Source
    half: int
    cell: Cell
    kept: list[Kept]


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
    loud = _false_alarms(judged, {"all": list(judged)} | groups)
    parts = [f"{tables} tables, {sessions} sessions", _overview(judged), loud, _by(judged, groups), _cross(judged)]
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


def _false_alarms(judged: Sequence[Judged], groups: dict[str, list[Judged]]) -> str:
    """Runs and tables that keep the rate as far as chance allows; in brackets those of an exact procedure."""
    rows = []
    for promise in _promises(judged):
        for name, group in groups.items():
            counts = [(each.source.name, kept.count) for each, kept in _of(group, promise) if kept.count is not None]
            if counts:
                rows.append([promise, name, *_loudness(counts)])
    columns = [
        "mean",
        "runs within chance",
        "tables within chance",
        "tables at most nominal",
        "anomalies found",
        "runs",
    ]
    return format_table(["promise", "of", *columns], rows)


def _loudness(counts: Sequence[tuple[str, Count]]) -> list[str]:
    """counts: of runs, with the names of their tables."""
    by_table: dict[str, list[Count]] = defaultdict(list)
    for name, count in counts:
        by_table[name].append(count)
    runs = [judge_runs([count]) for _, count in counts]
    tables = [judge_runs(found) for found in by_table.values()]
    found = [count.n_found / count.n_anomalies for _, count in counts if count.n_anomalies]
    return [
        f"{np.mean([count.n_false / count.n_new for _, count in counts]):.2%}",
        _beside(runs, lambda each: each.is_within, lambda each: each.exact_within),
        _beside(tables, lambda each: each.is_within, lambda each: each.exact_within),
        _beside(tables, lambda each: each.is_below, lambda each: each.exact_below),
        f"{np.mean(found):.1%}" if found else "",
        f"{len(counts):,}",
    ]


def _beside(verdicts: Sequence[Verdict], ours: Callable[[Verdict], bool], exact: Callable[[Verdict], float]) -> str:
    return f"{np.mean([ours(each) for each in verdicts]):.1%} ({np.mean([exact(each) for each in verdicts]):.1%})"


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
