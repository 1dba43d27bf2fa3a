"""What is usual in a column, and how a value compares with it, in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from statistics import NormalDist
from typing import Any

import numpy as np

from soel.report.view import Strip
from soel.tables.column import Values, readable_time
from soel.text import ENGLISH, Texts
from soel.types import Floats

FEW = 12
NOTHING = object()  # in place of a value, which may be missing itself
Z_HALF, Z_MOST = 0.6745, 1.6449  # where half, and nine tenths, of a normal distribution end
PER_IQR = 1.349  # the interquartile range of a normal distribution with spread 1
N_CATEGORIES = 8
REMARKABLE = 0.975  # a share of the rows worth mentioning, though the value is within the usual spread


def measure(column: Values, unit: str = "") -> Measure:
    """The measure of a column's reference values (n,). unit: that of numbers, where all have the same."""
    if column.dtype.kind == "M":
        return Times(measure(_seconds(column)))
    if column.dtype == object:
        return Categories(Counter(column.tolist()), len(column))
    return NumberMeasure(np.sort(column[~np.isnan(column)]), float(np.isnan(column).mean()), unit)


@dataclass(frozen=True)
class NumberMeasure:
    """Numbers, sorted, and the share of rows that lack one. unit: what people write behind them."""

    values: Floats
    missing: float
    unit: str = ""

    @cached_property
    def _usual(self) -> tuple[float, float]:
        """The median, and the spread by the interquartile range."""
        low, middle, high = (float(value) for value in np.quantile(self.values, (0.25, 0.5, 0.75)))
        return middle, (high - low) / PER_IQR or float(np.std(self.values))

    def distance(self, value: Any) -> float:
        """Distance from the median by the interquartile range; a rare gap counts by its rarity."""
        if np.isnan(value):
            return _rarity(self.missing, len(self.values))
        if not len(self.values):
            return 0.0
        if self._few is not None:
            return self._few.distance(float(value))
        middle, spread = self._usual
        if not spread:
            return 0.0 if value == middle else _rarity(0.0, len(self.values))
        return float(abs(value - middle) / spread)

    def reach(self, share: float) -> float:
        """As far as a normal distribution goes, and farther where the column's tails are wider.

        How wide is told by the middle nine tenths of the rows (Tukey's h): the last tenth may be what is looked for.
        """
        if not len(self.values) or not self._usual[1]:
            return 0.0
        if self._few is not None:
            return self._few.reach(share)
        middle, spread = self._usual
        half, most = (float(d) for d in np.quantile(np.abs(self.values - middle) / spread, (0.5, 0.9)))
        z = -NormalDist().inv_cdf(share / 2)
        if not half:
            return z
        wide = max(0.0, np.log(most / half / (Z_MOST / Z_HALF)) / ((Z_MOST**2 - Z_HALF**2) / 2))
        return float(half / Z_HALF * z * np.exp(wide * (z**2 - Z_HALF**2) / 2))

    @cached_property
    def _few(self) -> Categories | None:
        """A column with a handful of values is measured like categories: by how rare a value is."""
        values, counts = np.unique(self.values, return_counts=True)
        if len(values) > FEW or len(self.values) < 5 * len(values):
            return None
        return Categories(dict(zip(values.tolist(), counts.tolist(), strict=True)), len(self.values))

    def text(self, value: Any, t: Texts = ENGLISH) -> str:
        return t("column.missing") if np.isnan(value) else f"{t.number(float(value))} {self.unit}".strip()

    def words(self, value: Any, stands_out: bool, t: Texts = ENGLISH) -> str:
        if np.isnan(value):
            return t("column.missing_in", share=t.percent(self.missing))
        if not len(self.values):
            return ""
        typical = t("column.typical", value=t.number(float(np.median(self.values)), 4))
        below = float(np.searchsorted(self.values, value) / len(self.values))
        above = 1 - float(np.searchsorted(self.values, value, side="right") / len(self.values))
        if stands_out:
            key, share = ("column.higher", below) if below > above else ("column.lower", above)
            return t(key, share=t.more_than(share), typical=typical)
        end = "upper_end" if below >= REMARKABLE else "lower_end" if above >= REMARKABLE else ""
        return t(f"column.{end}", typical=typical) if end else typical

    def strip(self, value: Any, t: Texts = ENGLISH, usual: Any = NOTHING) -> Strip | None:
        return Strip.of(self.values, value, np.nan if usual is NOTHING else usual, t)


@dataclass(frozen=True)
class Times:
    """Points in time, compared as seconds."""

    seconds: Measure

    def distance(self, value: Any) -> float:
        return self.seconds.distance(_seconds(value))

    def reach(self, share: float) -> float:
        return self.seconds.reach(share)

    def text(self, value: Any, t: Texts = ENGLISH) -> str:
        """The day, and the time of day where there is one."""
        return t("column.missing") if np.isnat(value) else readable_time(value)

    def words(self, value: Any, stands_out: bool, t: Texts = ENGLISH) -> str:
        return t("column.time_out") if stands_out else ""

    def strip(self, value: Any, t: Texts = ENGLISH, usual: Any = NOTHING) -> Strip | None:
        strip = self.seconds.strip(_seconds(value), t, usual if usual is NOTHING else _seconds(usual))
        if strip is None:
            return None
        return replace(strip, low=t("column.earlier"), high=t("column.later"))


def _seconds(value: Any) -> Any:
    return np.where(np.isnat(value), np.nan, np.asarray(value).astype("datetime64[us]").astype(np.int64) / 1e6)


@dataclass(frozen=True)
class Categories:
    """How often each category occurs."""

    counts: Mapping[Any, int]
    n_rows: int

    def distance(self, value: Any) -> float:
        """By rarity: the rows in which this category, or a rarer one, stands."""
        own = self.counts.get(value, 0)
        return _rarity(self._n_rarer.get(own, 0) / self.n_rows, self.n_rows)

    @cached_property
    def _n_rarer(self) -> dict[int, int]:
        """For each count: the rows in which categories that are as rare, or rarer, stand."""
        sizes = sorted(self.counts.values())
        return dict(zip(sizes, accumulate(sizes), strict=True))  # the last of equal counts stays

    def reach(self, share: float) -> float:
        """By the rows that have a category as rare, or rarer."""
        rare = [n for n in self._n_rarer.values() if n / self.n_rows <= share]
        return _rarity(max(rare, default=0) / self.n_rows, self.n_rows) if rare else _rarity(share, self.n_rows)

    def text(self, value: Any, t: Texts = ENGLISH) -> str:
        return t("column.missing") if value is None else str(value)

    def words(self, value: Any, stands_out: bool, t: Texts = ENGLISH) -> str:
        known = {category: count for category, count in self.counts.items() if category is not None}
        share = self.counts.get(value, 0) / self.n_rows
        often = max(known, key=lambda category: known[category], default=None)
        if often in (None, value):
            return t("column.in", share=t.percent(share))
        return t("column.in_typical", share=t.percent(share), value=str(often))

    def strip(self, value: Any, t: Texts = ENGLISH, usual: Any = NOTHING) -> Strip | None:
        """One bar per frequent category; no mark for one that is not among them."""
        kept = sorted(self.counts, key=lambda c: (-self.counts[c], str(c)))[:N_CATEGORIES]
        if value not in kept:
            kept = [*kept[: N_CATEGORIES - 1], value]
        highest = max((self.counts.get(c, 0) for c in kept), default=0) or 1
        bars = tuple(round((self.counts.get(c, 0) / highest) ** 0.5, 3) for c in kept)
        mark, other = ((kept.index(c) + 0.5) / len(kept) if c in kept else None for c in (value, usual))
        return Strip(bars, mark, t("column.frequent"), t("column.rare"), other)


def _rarity(share: float, n_rows: int) -> float:
    """A share of rows on the scale of spreads: 1 in 20 is about 2.4, 1 in 1000 about 3.7."""
    return float(np.sqrt(2 * np.log(1 / max(share, 1 / (2 * n_rows + 2)))))


Measure = NumberMeasure | Times | Categories
