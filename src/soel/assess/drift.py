"""Drift of new rows from the pool: values out of range, new categories, missing values, moved shares, more alarms.

Each finding is a test with the null hypothesis that the rows are drawn like the pool's. The bounds are free of any
distribution and corrected for the number of tests (Bonferroni), so that on data like the pool's at most one summary in
a thousand reports drift. A difference that is significant but small is no drift either (`LEAST` and the like).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import inf, lgamma, log
from typing import Any, Literal

import numpy as np

from soel.tables.codes import Baseline, ColumnBaseline, ColumnCounts, Tally
from soel.tables.column import readable_time
from soel.text import count, percent

What = Literal["range", "categories", "missing", "shares", "alarms", "calendar"]
WRONG_AT_MOST = 1e-3  # share of summaries of rows like the pool's that report drift
LEAST = 0.01  # of the rows: out of range, in new categories
LEAST_MISSING = 0.05  # more than in the pool
LEAST_MOVED = 0.2  # of the rows: on another side of a decile, or in another category
MORE_ALARMS = 2.0  # times the pool's share
N_NAMED = 3


@dataclass(frozen=True)
class DriftFinding:
    """One difference. column: None for alarms. n_rows, share: of the new rows; expected: the same share of the pool.

    is_drift: whether it is significant and large enough. text: in words.
    """

    what: What
    column: str | None
    n_rows: int
    share: float
    expected: float
    is_drift: bool
    text: str


@dataclass(frozen=True)
class Drift:
    """How rows differ from the pool. findings: those that are drift first. columns_known: False for a model that does
    not know what the pool held.
    """

    n_rows: int
    findings: tuple[DriftFinding, ...]
    columns_known: bool = True

    @property
    def found(self) -> bool:
        return any(finding.is_drift for finding in self.findings)

    def lines(self, most: int = 10) -> list[str]:
        drift = [finding.text for finding in self.findings if finding.is_drift]
        moved = [f"Not drift: {finding.text}" for finding in self.findings if finding.what == "calendar"]
        if not drift:
            return [
                "No drift detected." if self.columns_known else "No drift detected in the share of alarms.",
                *moved[:most],
            ]
        more = [f"  ... and {len(drift) - most} more."] if len(drift) > most else []
        return ["Drift detected:", *(f"  {text}" for text in drift[:most]), *more, *moved[:most]]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def document(self) -> dict[str, Any]:
        findings = [asdict(finding) for finding in self.findings]
        return {"found": self.found, "columns_known": self.columns_known, "lines": self.lines(), "findings": findings}


@dataclass(frozen=True)
class AlarmCounts:
    """How many rows lie above the pool's threshold, of the new ones and of the pool's own."""

    n_alarms: int
    n_rows: int
    pool_alarms: int
    pool_rows: int

    @classmethod
    def of(cls, alarms: np.ndarray, pool_alarms: np.ndarray) -> AlarmCounts:
        return cls(int(alarms.sum()), len(alarms), int(pool_alarms.sum()), len(pool_alarms))


@dataclass(frozen=True)
class _Test:
    """A difference before the number of all tests is known. is_drift says so far whether it is large enough.

    log_p: the smallest log p-value of the tests that were made for it.
    """

    finding: DriftFinding
    log_p: float
    n_tests: int = 1


def judge_drift(baseline: Baseline | None, tally: Tally | None, alarms: AlarmCounts) -> Drift:
    """The findings, by what the pool held, what new rows hold and how many alarms both raise."""
    tests = [_judge_alarms(alarms)] if alarms.pool_rows and alarms.n_rows else []
    known = baseline is not None and tally is not None
    if baseline is not None and tally is not None:
        for name, column in baseline.items():
            tests += _judge_column(name, column, tally[name])
    limit = log(WRONG_AT_MOST / max(sum(each.n_tests for each in tests), 1))
    found = [replace(each.finding, is_drift=each.finding.is_drift and each.log_p < limit) for each in tests]
    ordered = sorted(found, key=lambda finding: (not finding.is_drift, finding.column is not None, -finding.share))
    return Drift(alarms.n_rows, tuple(filter(_is_listed, ordered)), known)


def _is_listed(finding: DriftFinding) -> bool:
    """Findings without drift are listed where they count rows: shares always move a little."""
    return finding.is_drift or finding.what == "alarms" or (finding.n_rows > 0 and finding.what != "shares")


def _judge_alarms(alarms: AlarmCounts) -> _Test:
    share, expected = alarms.n_alarms / alarms.n_rows, alarms.pool_alarms / alarms.pool_rows
    text = (
        f"alarms: {alarms.n_alarms:,} of {alarms.n_rows:,} rows ({percent(share)}) lie above the pool's threshold, "
        f"{percent(expected)} of the pool do"
    )
    matters = share >= MORE_ALARMS * expected and share - expected >= LEAST
    finding = DriftFinding("alarms", None, alarms.n_alarms, share, expected, matters, text)
    return _Test(finding, _log_p(alarms.n_alarms, alarms.n_rows, alarms.pool_alarms, alarms.pool_rows))


def _judge_column(name: str, column: ColumnBaseline, new: ColumnCounts) -> Iterator[_Test]:
    pool = column.pool
    if new.n_rows and pool.n_rows:
        yield _judge_missing(name, pool, new)
    if not new.n_present or not pool.n_present:
        return
    if column.counted in ("numbers", "lengths"):
        called = name if column.counted == "numbers" else f"{name} (length)"
        yield from _judge_range(called, column, new)
        yield _judge_steps(called, column, new)
    elif column.counted == "categories":
        yield _judge_new_words(name, pool, new)
        yield _judge_words(name, pool, new)
    elif column.counted == "names":
        yield _judge_names(name, pool, new)
    elif column.counted == "times":
        yield from _judge_times(name, column, new)


def _judge_missing(name: str, pool: ColumnCounts, new: ColumnCounts) -> _Test:
    share, expected = new.n_missing / new.n_rows, pool.n_missing / pool.n_rows
    matters = share - expected >= (LEAST_MISSING if pool.n_missing else LEAST)
    text = f"{name}: {_rows(new.n_missing, share)} lack a value, {percent(expected)} of the pool do"
    finding = DriftFinding("missing", name, new.n_missing, share, expected, matters, text)
    return _Test(finding, _log_p(new.n_missing, new.n_rows, pool.n_missing, pool.n_rows))


def _judge_range(name: str, column: ColumnBaseline, new: ColumnCounts) -> Iterator[_Test]:
    low, high = column.edges[0], column.edges[-1]
    for n, side, end in ((new.steps[0], "below", new.low), (new.steps[-1], "above", new.high)):
        share = n / new.n_present
        text = f"{name}: {_rows(n, share)} {side} the pool's range of {low:.6g} to {high:.6g}, as far as {end:.6g}"
        finding = DriftFinding("range", name, n, share, 0.0, share >= LEAST, text)
        yield _Test(finding, _log_all_new(n, new.n_present, column.pool.n_present))


def _judge_times(name: str, column: ColumnBaseline, new: ColumnCounts) -> Iterator[_Test]:
    """Rows outside of the pool's time: the calendar moved, which no feature depends on."""
    for n, side, end in ((new.steps[0], "before", column.edges[0]), (new.steps[-1], "after", column.edges[-1])):
        share = n / new.n_present
        when = readable_time(np.datetime64(round(end), "s"))
        text = f"{name}: {_rows(n, share)} {side} the pool's {'first' if side == 'before' else 'last'} time, {when}"
        yield _Test(DriftFinding("calendar", name, n, share, 0.0, False, text), 0.0, 0)


def _judge_steps(name: str, column: ColumnBaseline, new: ColumnCounts) -> _Test:
    """Whether more or fewer of the rows than of the pool's lie up to an edge; the edge with the largest difference."""
    was, now = np.cumsum(column.pool.steps)[:-1], np.cumsum(new.steps)[:-1]
    gaps = now / new.n_present - was / column.pool.n_present
    at = int(np.argmax(np.abs(gaps)))
    share, expected = now[at] / new.n_present, was[at] / column.pool.n_present
    text = (
        f"{name}: {percent(share)} of the values are at most {column.edges[at]:.6g}, {percent(expected)} of the "
        "pool's are"
    )
    finding = DriftFinding(
        "shares", name, int(now[at]), float(share), float(expected), abs(gaps[at]) >= LEAST_MOVED, text
    )
    chances = [_log_p_either(n, new.n_present, k, column.pool.n_present) for n, k in zip(now, was, strict=True)]
    return _Test(finding, min(chances), len(chances))


def _judge_new_words(name: str, pool: ColumnCounts, new: ColumnCounts) -> _Test:
    """Categories that the pool did not have: one that is frequent, or many that are rare."""
    unseen = {word: n for word, n in new.words.items() if word not in pool.words}
    n, once = sum(unseen.values()), sum(n == 1 for n in unseen.values())
    share = n / new.n_present
    shown = ", ".join(map(repr, sorted(unseen, key=lambda word: (-unseen[word], word))[:N_NAMED]))
    more = f" and {len(unseen) - N_NAMED} more" if len(unseen) > N_NAMED else ""
    text = f"{name}: {_rows(n, share)} in categories that the pool does not have: {shown}{more}"
    finding = DriftFinding("categories", name, n, share, 0.0, share >= LEAST, text)
    n_words = len(pool.words.keys() | new.words.keys())
    frequent = _log_all_new(max(unseen.values(), default=0), new.n_present, pool.n_present) + log(n_words)
    pool_once = sum(n == 1 and word not in new.words for word, n in pool.words.items())
    rare = _log_share_of_few(once, once + pool_once, new.n_present / (new.n_present + pool.n_present))
    return _Test(finding, min(frequent, rare), 2)


def _judge_words(name: str, pool: ColumnCounts, new: ColumnCounts) -> _Test:
    """Whether a category of the pool has become more or less frequent; the one with the largest difference."""
    counts = [(word, new.words.get(word, 0), n) for word, n in pool.words.items()]
    word, now, was = max(counts, key=lambda each: abs(each[1] / new.n_present - each[2] / pool.n_present))
    share, expected = now / new.n_present, was / pool.n_present
    text = f"{name}: {percent(share)} of the rows are {word!r}, {percent(expected)} of the pool's are"
    finding = DriftFinding("shares", name, now, share, expected, abs(share - expected) >= LEAST_MOVED, text)
    chances = [_log_p_either(n, new.n_present, k, pool.n_present) for _, n, k in counts]
    return _Test(finding, min(chances), len(chances))


def _judge_names(name: str, pool: ColumnCounts, new: ColumnCounts) -> _Test:
    (_, was), (_, now) = pool.steps, new.steps
    share, expected = now / new.n_present, was / pool.n_present
    text = f"{name}: {_rows(now, share)} have a name that the pool has at most once, {percent(expected)} of the pool do"
    matters = share - expected >= max(LEAST_MISSING, expected / 2)
    finding = DriftFinding("categories", name, now, share, expected, matters, text)
    return _Test(finding, _log_p(now, new.n_present, was, pool.n_present))


def _log_all_new(k: int, n_new: int, n_pool: int) -> float:
    """Log p-value: the k most extreme of all rows are new ones. Exact, whatever the distribution."""
    if not k:
        return 0.0
    return lgamma(n_new + 1) - lgamma(n_new - k + 1) - lgamma(n_new + n_pool + 1) + lgamma(n_new + n_pool - k + 1)


def _log_p(k: int, n: int, was: int, n_pool: int) -> float:
    """Log p-value: so many or more of the rows with a property are among the n new ones (Hoeffding's bound)."""
    overall = (k + was) / (n + n_pool)
    if k / n <= overall:
        return 0.0
    return -max(n * _divergence(k / n, overall), n_pool * _divergence(was / n_pool, overall))


def _log_p_either(k: int, n: int, was: int, n_pool: int) -> float:
    """The same for more or fewer."""
    return min(log(2) + min(_log_p(k, n, was, n_pool), _log_p(n - k, n, n_pool - was, n_pool)), 0.0)


def _log_share_of_few(k: int, n: int, share: float) -> float:
    """Log p-value: k or more of n things, each new with this probability, are new."""
    return 0.0 if not n or k / n <= share else -n * _divergence(k / n, share)


def _divergence(p: float, q: float) -> float:
    """The Kullback-Leibler divergence of two Bernoulli distributions."""
    return float(_term(p, q) + _term(1 - p, 1 - q))


def _term(p: float, q: float) -> float:
    if p <= 0:
        return 0.0
    return inf if q <= 0 else p * log(p / q)


def _rows(n: int, share: float) -> str:
    return f"{count(n, 'row')} ({percent(share)})"
