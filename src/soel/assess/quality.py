"""What a spot check proves: the share of anomalies, precision and recall of the alarms, false alarms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from soel.records import read_body
from soel.types import ANOMALY, UNLABELLED, Floats, Labels, Rows, Selection

COVERAGE = 0.8
TO_ALARMS = 0.4  # of a spot check; chosen by the widths that docs/contamination.md shows
RESERVE = 2  # rows that can step in for each one that is set aside
PER = 1000  # rows that false alarms are counted in
ROUNDING = 0.5  # rows: probabilities add up to no whole number
Judgement = Literal["right", "too high", "too low"]


@dataclass(frozen=True)
class Stratum:
    """Rows on one side of the threshold: those asked before, and of the rest those drawn by chance and answered.

    n_rows: all of them. n_known, n_known_anomalies: labelled before the draw. n_checked, n_found: drawn uniformly from
    the others. expected: anomalies among the others by their probabilities before the draw; None without these.
    """

    n_rows: int
    n_known: int = 0
    n_known_anomalies: int = 0
    n_checked: int = 0
    n_found: int = 0
    expected: float | None = None

    @property
    def n_open(self) -> int:
        return self.n_rows - self.n_known

    @property
    def count(self) -> float:
        """The expected number of anomalies; half of what was never checked."""
        rate = self.n_found / self.n_checked if self.n_checked else 0.5
        return self.n_known_anomalies + self.n_open * rate

    @property
    def promised(self) -> float | None:
        """The anomalies that the probabilities of the checked model promise."""
        return None if self.expected is None else self.n_known_anomalies + self.expected

    def low(self, risk: float) -> int:
        """A number of anomalies that the truth falls below with a chance of `risk` at most."""
        return self.n_known_anomalies + lowest_count(self.n_open, self.n_checked, self.n_found, risk)

    def high(self, risk: float) -> int:
        """A number of anomalies that the truth exceeds with a chance of `risk` at most."""
        return self.n_known_anomalies + highest_count(self.n_open, self.n_checked, self.n_found, risk)


@dataclass(frozen=True)
class SpotCheck:
    """The two sides of a threshold, each with its own sample: alarms are few, so they are drawn more often."""

    alarms: Stratum
    others: Stratum

    @classmethod
    def of(
        cls, is_alarm: np.ndarray, before: Labels, rows: Rows, labels: Labels, chances: Floats | None = None
    ) -> SpotCheck:
        """From arrays. is_alarm: (N,). before: (N,) known when the rows were drawn. labels: (N,) known now.

        chances: (N,) probabilities by the model that is checked.
        """
        sides = [_side(side, before != UNLABELLED, rows, labels, chances) for side in (is_alarm, ~is_alarm)]
        return cls(*sides)

    def quality(self, coverage: float = COVERAGE) -> Quality:
        """Every figure with an interval that holds with at least this chance, without any assumption.

        Each risk is split before the labels are seen: between the two ends, and between the strata where a figure
        needs both. What is known of rows asked earlier is counted, not estimated.
        """
        risk = (1 - coverage) / 2
        alarms, others = self.alarms, self.others
        n_rows, n_alarms = alarms.n_rows + others.n_rows, alarms.n_rows
        of_alarms = self._part_of_alarms()
        low = alarms.low(risk * of_alarms) + others.low(risk * (1 - of_alarms))
        high = alarms.high(risk * of_alarms) + others.high(risk * (1 - of_alarms))
        both = risk / 2
        found = Bounds(alarms.count, alarms.low(risk), alarms.high(risk))
        return Quality(
            share=_scale(alarms.count + others.count, low, high, n_rows),
            real_alarms=found,
            precision=_scale(found.value, found.low, found.high, n_alarms) if n_alarms else None,
            recall=Bounds(
                _part(alarms.count, others.count),
                _part(alarms.low(both), others.high(both)),
                _part(alarms.high(both), others.low(both)),
            ),
            false_alarms=_scale(n_alarms - found.value, n_alarms - found.high, n_alarms - found.low, n_rows / PER),
            n_checked=alarms.n_checked + others.n_checked,
            n_rows=n_rows,
            n_alarms=n_alarms,
            coverage=coverage,
            missed=Bounds(others.count, others.low(risk), others.high(risk)),
            promised_alarms=alarms.promised,
            promised_missed=others.promised,
        )

    def _part_of_alarms(self) -> float:
        """How much of the risk the alarms get: as much as they add to the spread of the sum, by design alone."""
        spreads = [each.n_open / np.sqrt(max(each.n_checked, 1)) for each in (self.alarms, self.others)]
        return float(spreads[0] / sum(spreads)) if sum(spreads) else 0.5


@dataclass(frozen=True)
class Quality:
    """What a spot check says of the pool and of the alarms of the model that stood when it was drawn.

    share: of anomalies in the pool. real_alarms: how many alarms are anomalies. precision: None without alarms.
    false_alarms: in 1,000 rows. coverage: how often, at least, each interval holds. missed: anomalies without an alarm.
    promised_alarms, promised_missed: what the model's probabilities add up to among the alarms and among the others;
    None where they are not known.
    """

    share: Bounds
    real_alarms: Bounds
    precision: Bounds | None
    recall: Bounds
    false_alarms: Bounds
    n_checked: int
    n_rows: int
    n_alarms: int
    coverage: float = COVERAGE
    missed: Bounds | None = None
    promised_alarms: float | None = None
    promised_missed: float | None = None

    @property
    def alarms_judgement(self) -> Judgement | None:
        """Whether the probabilities of the alarms are too high, too low, or right as far as the check tells."""
        return _judge(self.promised_alarms, self.real_alarms)

    @property
    def missed_judgement(self) -> Judgement | None:
        """The same of all others."""
        return _judge(self.promised_missed, self.missed)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Quality:
        return read_body(cls, values)


def widest_intervals(n: int, alarms: Stratum, others: Stratum, coverage: float = COVERAGE) -> tuple[float, float]:
    """How wide a check of `n` can leave the interval of the share, and that of the precision, whatever is found.

    alarms, others: without a check so far.
    """
    sizes = allocate(n, alarms.n_open, others.n_open)
    check = SpotCheck(*(replace(side, n_checked=size) for side, size in zip((alarms, others), sizes, strict=True)))
    risk, of_alarms = (1 - coverage) / 2, check._part_of_alarms()
    share = _widest(check.alarms, risk * of_alarms) + _widest(check.others, risk * (1 - of_alarms))
    precision = _widest(check.alarms, risk) / alarms.n_rows if alarms.n_rows else 0.0
    return share / (alarms.n_rows + others.n_rows), precision


def _widest(side: Stratum, risk: float) -> int:
    found = (replace(side, n_found=n_found) for n_found in range(side.n_checked + 1))
    return max(each.high(risk) - each.low(risk) for each in found)


def allocate(n: int, n_alarms: int, n_others: int) -> tuple[int, int]:
    """How many of `n` checks go to the alarms and to the others, of which so many can be drawn."""
    n = min(n, n_alarms + n_others)
    to_alarms = min(n_alarms, max(round(TO_ALARMS * n), n - n_others))
    return to_alarms, n - to_alarms


def draw_check(is_alarm: np.ndarray, open_rows: Rows, n: int, rng: np.random.Generator) -> Selection:
    """`n` of the open rows and a reserve, in an order that tells nothing; odds are those of the `n`.

    is_alarm: (N,). Each side is drawn uniformly and without replacement, so that any first part of it is, too.
    """
    sides = [rng.permutation(open_rows[is_alarm[open_rows] == side]) for side in (True, False)]
    asked = allocate(n, *map(len, sides))
    more = allocate((1 + RESERVE) * n, *map(len, sides))
    ends = [max(first, last) for first, last in zip(asked, more, strict=True)]
    odds = np.zeros(len(is_alarm))
    for rows, size in zip(sides, asked, strict=True):
        odds[rows] = size / max(len(rows), 1)
    first = rng.permutation(np.concatenate([rows[:size] for rows, size in zip(sides, asked, strict=True)]))
    spare = [rows[size:end] for rows, size, end in zip(sides, asked, ends, strict=True)]
    rows = np.concatenate([first, rng.permutation(np.concatenate(spare))])
    return Selection(rows, odds[rows])


def _judge(promised: float | None, proven: Bounds | None) -> Judgement | None:
    """Wrong in at most half of the risk, since the range is exact; half a row is no difference."""
    if promised is None or proven is None:
        return None
    if promised > proven.high + ROUNDING:
        return "too high"
    return "too low" if promised < proven.low - ROUNDING else "right"


def _side(side: np.ndarray, was_known: np.ndarray, rows: Rows, labels: Labels, chances: Floats | None) -> Stratum:
    known, checked = side & was_known & (labels != UNLABELLED), rows[side[rows] & (labels[rows] != UNLABELLED)]
    n_known, n_found = int((labels[known] == ANOMALY).sum()), int((labels[checked] == ANOMALY).sum())
    expected = None if chances is None else float(chances[side & ~was_known].sum())
    return Stratum(int(side.sum()), int(known.sum()), n_known, len(checked), n_found, expected)


def _scale(value: float, low: float, high: float, by: float) -> Bounds:
    return Bounds(value / by, low / by, high / by)


def _part(count: float, rest: float) -> float:
    """The share of a count in the sum with the rest; all of nothing."""
    return count / (count + rest) if count + rest else 1.0


@dataclass(frozen=True)
class Bounds:
    """A figure with the interval that holds it as often as is said."""

    value: float
    low: float
    high: float

    def round_outwards(self, unit: float) -> Bounds:
        """With ends that are multiples of a unit, rounded outwards: what is shown must not promise more."""
        low, high = np.floor(self.low / unit + 1e-9) * unit, np.ceil(self.high / unit - 1e-9) * unit
        return Bounds(self.value, float(low), float(high))

    def allowing(self, mistakes: float) -> Bounds:
        """A share among answers, as one among truths, where up to this share of the answers are wrong either way.

        With a share e of them wrong, q of the answers say anomaly where (q - e) / (1 - 2 e) are.
        """
        low, high = (float(np.clip((end - mistakes) / (1 - 2 * mistakes), 0, 1)) for end in (self.low, self.high))
        return Bounds(self.value, min(self.low, low), max(self.high, high))

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high


def lowest_count(n_rows: int, n_checked: int, n_found: int, risk: float) -> int:
    """The lowest number of anomalies among `n_rows` under which finding so many was no rarer than `risk`.

    It exceeds the truth with a chance of at most `risk`, whatever the truth is.
    """
    if not 0 <= n_found <= n_checked <= n_rows:
        raise ValueError(f"Of {n_rows} rows, {n_checked} checked and {n_found} found cannot be; give counts in order.")
    counts = range(n_found, n_rows - (n_checked - n_found))
    is_likely = partial(_is_likely, n_rows, n_checked, n_found, risk)
    return n_found + bisect_left(counts, True, key=is_likely)


def highest_count(n_rows: int, n_checked: int, n_found: int, risk: float) -> int:
    """The highest number of anomalies under which finding so few was no rarer than `risk`."""
    return n_rows - lowest_count(n_rows, n_checked, n_checked - n_found, risk)


def _is_likely(n_rows: int, n_checked: int, n_found: int, risk: float, n_anomalies: int) -> bool:
    """Whether a sample holds so many of the anomalies, or more, with a chance above `risk` (hypergeometric)."""
    found = np.arange(max(n_found, n_checked - (n_rows - n_anomalies)), min(n_anomalies, n_checked) + 1)
    ways = _log_choose(n_anomalies, found) + _log_choose(n_rows - n_anomalies, n_checked - found)
    return bool(np.exp(ways - _log_choose(n_rows, np.array(n_checked))).sum() > risk)


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    from scipy.special import gammaln  # takes a while to import, which labelling must not wait for

    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
