"""What a fit found, ready for page and report: a line of facts, a histogram, alarms, patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from soel.assess.threshold import NEVER
from soel.explain import Reason, RowExplanation, localise, name_group
from soel.report.outcome import Outcome
from soel.report.reasons import Kept, find_why
from soel.scoring.score import rank
from soel.session import SessionState
from soel.tables.column import Values
from soel.text import ENGLISH, Texts
from soel.types import Estimate, Floats, Label, Labels

ItemKind = Literal["table", "image", "video"]
N_BARS, MOST_BARS = 24, 60
LONG_TAIL = 3.0  # a tail this many times as long as the rest is gathered in the last bar
TALL = 200  # from this count on bars grow with its logarithm, so that small ones are seen
MOST_GROUPS = 5  # that are named among those that suffice for most alarms


@dataclass(frozen=True)
class Picture:
    """The bytes of a picture and their media type, always a raster format."""

    content: bytes
    media_type: str


@dataclass(frozen=True)
class Strip:
    """How a column lies, and where a value and the usual one sit in it.

    bars: heights in [0, 1]. mark, usual: places in [0, 1], None for what is missing. low, high: the ends in words.
    """

    bars: tuple[float, ...]
    mark: float | None
    low: str
    high: str
    usual: float | None = None

    @classmethod
    def of(cls, column: Floats, value: float, usual: float = np.nan, t: Texts = ENGLISH) -> Strip | None:
        """Of numbers (n,), over the usual range, widened so that both values are on it; None where all are missing."""
        present = column[np.isfinite(column)]
        if not len(present):
            return None
        known = [float(each) for each in (value, usual) if np.isfinite(each)]
        low, high = (float(end) for end in np.quantile(present, (0.005, 0.995)))
        low, high = min(low, *known, low), max(high, *known, high)
        if (high - low) / N_BARS <= np.spacing(max(abs(low), abs(high))):  # bars could not be told apart
            low, high = low - 0.5, high + 0.5
        heights = np.histogram(np.clip(present, low, high), N_BARS, (low, high))[0]
        bars = np.sqrt(heights / heights.max())  # the root keeps thin tails visible
        places = [
            round((float(each) - low) / (high - low), 4) if np.isfinite(each) else None for each in (value, usual)
        ]
        return cls(tuple(bars.round(3).tolist()), places[0], t.number(low, 3), t.number(high, 3), places[1])


@dataclass(frozen=True)
class Chip:
    """A reason in a few words, such as 'area 2022 ↑ 522', and the whole of it in a sentence."""

    text: str
    words: str = ""
    strip: Strip | None = None


@dataclass(frozen=True)
class Resembled:
    """The labelled item that another one is most like."""

    item: str
    title: str
    verdict: str


@dataclass(frozen=True)
class AlarmLine:
    """An item in a list: one line of it. rank, score, probability, p_value: None before a fit.

    verdict, because: what is said of it, as far as the reader may know, and the columns named with it. why: a sentence
    beside the chips; details: with all columns. pattern: the number of the pattern of alarms that it belongs to,
    from 1.
    """

    item: str
    title: str
    kind: ItemKind = "table"
    rank: int | None = None
    score: float | None = None
    probability: float | None = None
    p_value: float | None = None
    is_alarm: bool = False
    verdict: str | None = None
    chips: tuple[Chip, ...] = ()
    why: str = ""
    details: str = ""
    resembles: Resembled | None = None
    pattern: int | None = None
    because: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alarms:
    """Makes the records of a session's items for one reader.

    state: as far as the reader may know it. kept: the explanations. title: what people call an item. columns: the
    table's own (N,), for strips; empty for pictures. threshold: where alarms start, the model's own where it is None.
    """

    ids: Sequence[str]
    state: SessionState
    outcome: Outcome | None
    kept: Kept
    title: Callable[[str], str]
    columns: Mapping[str, Values]
    texts: Texts = ENGLISH
    kind: ItemKind = "table"
    threshold: float | None = None

    def of(self, row: int) -> AlarmLine:
        """The item of a row."""
        item, outcome, why = self.ids[row], self.outcome, find_why(self.kept, self.ids[row])
        known: dict[str, Any] = {}
        if outcome is not None:
            cut = outcome.threshold if self.threshold is None else self.threshold
            score, chance = float(outcome.scores[row]), float(outcome.probabilities[row])
            known = {"rank": int(self.ranks[row]), "score": score, "probability": chance, "is_alarm": score > cut}
            known["p_value"] = float(self._p_values[row])
        answered = self.state.answers.get(item)
        return AlarmLine(
            item,
            self.title(item),
            self.kind,
            **known,
            verdict=None if answered is None else str(answered.verdict),
            chips=() if why is None else self.chips(why, row),
            why="" if why is None else why.say(self.texts, brief=True, title=self.title),
            details="" if why is None else why.say(self.texts, title=self.title),
            resembles=self.resembled(item),
            pattern=self.pattern_of.get(item),
            because=() if answered is None else answered.because,
        )

    def chips(self, why: RowExplanation, row: int) -> tuple[Chip, ...]:
        """Those of an alarm; what would make another one an alarm is said in words only."""
        if not why.is_alarm:
            return ()
        t = self.texts
        return tuple(Chip(each.chip(t), each.say(t), self._strip(each, row, why)) for each in why.reasons)

    def resembled(self, item: str) -> Resembled | None:
        """The labelled item that this one is most like, where the reader may know of it."""
        other = self.kept["resembles"].get(item)
        if other is None or other not in self.state.labels:
            return None
        return Resembled(other, self.title(other), str(self.state.answers[other].verdict))

    def _strip(self, reason: Reason, row: int, why: RowExplanation) -> Strip | None:
        """How the first of its columns lies, where that holds numbers."""
        column = self.columns.get(reason.columns[0])
        if column is None or column.dtype != np.float64 or why.like not in self._row_of:
            return None
        return Strip.of(column, column[row], column[self._row_of[why.like]], self.texts)

    @cached_property
    def ranks(self) -> np.ndarray:
        """The rank of each row, 1 for the most anomalous."""
        assert self.outcome is not None
        return rank(self.outcome.scores)

    @cached_property
    def pattern_of(self) -> dict[str, int]:
        """The pattern of each alarm that is in one."""
        patterns = (self.kept["patterns"] or {}).get("patterns", ())
        return {item: number for number, pattern in enumerate(patterns, 1) for item in pattern["items"]}

    @cached_property
    def _p_values(self) -> Floats:
        assert self.outcome is not None
        return self.outcome.p_values

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.ids)}


@dataclass(frozen=True)
class InCommon:
    """What alarms have in common. words: what was looked at. groups: of columns that suffice for most, as chips.

    patterns: a sentence each.
    """

    words: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, alarms: Alarms) -> InCommon:
        """From what was kept of a fit; empty where no alarm was explained."""
        kept, t = alarms.kept["patterns"], alarms.texts
        if not kept or not kept["n_alarms"]:
            return cls()
        words = [t("reason.looked", n=kept["n_explained"], total=kept["n_alarms"])]
        if kept["n_whole"]:
            words.append(t("reason.whole_ones", n=kept["n_whole"]))
        return cls(
            tuple(words),
            tuple(f"{name_group(names, t)}: {t('reason.driver', n=n)}" for names, n in kept["groups"][:MOST_GROUPS]),
            tuple(_say_pattern(each, alarms.state.labels, t, alarms.title) for each in kept["patterns"]),
        )


def _say_pattern(
    pattern: Mapping[str, Any], labels: Mapping[str, Label], t: Texts = ENGLISH, title: Callable[[str], str] = str
) -> str:
    """Its groups of columns, its size, an example, its rule, and what is labelled. title: what people call an item."""
    items, rule = pattern["items"], pattern["rule"]
    names = ", ".join(name_group(columns, t) for columns in pattern["groups"])
    parts = [t("reason.group_line", names=names, n=len(items), item=title(items[0]))]
    if rule is not None:
        met = "; ".join(f"{each['column']} {each['sign']} {localise(each['value'], t)}" for each in rule["conditions"])
        parts.append(t("reason.rule", rule=met, hits=rule["n_hits"], n=rule["n_met"]))
    known = [labels[item] for item in items if item in labels]
    if known:
        n_each = known.count(Label.ANOMALY), known.count(Label.NORMAL)
        parts.append(t("reason.labelled", anomalies=n_each[0], normal=n_each[1]))
    return "; ".join(parts)


@dataclass(frozen=True)
class FactLine:
    """What leads: alarms and where they start (None: nowhere), the estimated share, labels, the day of the fit.

    real: how many alarms are real, by a spot check of `n_checked` items. true_share: where it is known.
    """

    n_alarms: int
    threshold: float | None
    share: Estimate
    n_anomalies: int
    n_normal: int
    n_items: int
    made_of: str = ""
    fitted: str = ""
    real: tuple[int, int] | None = None
    n_checked: int = 0
    true_share: float | None = None


@dataclass(frozen=True)
class Histogram:
    """Scores as equal bars from `low` to `high`; a few that are far higher are counted in the last bar.

    heights: in [0, 1]. line: the place of the threshold in [0, 1], None where it lets nothing through. ticks: the
    places of labelled items by their label. highest: of all scores. is_log: whether high bars are shortened.
    """

    low: float
    high: float
    highest: float
    heights: tuple[float, ...]
    line: float | None
    ticks: tuple[tuple[str, float], ...]
    is_log: bool

    @classmethod
    def of(cls, scores: Floats, labels: Labels, threshold: float) -> Histogram:
        """Of a pool's scores (N,) and labels (N,)."""
        scores = np.asarray(scores, np.float64)
        low, highest = float(scores.min()), float(scores.max())
        high = _end(scores, threshold)
        if high - low <= 1e-12 * max(abs(low), abs(high), 1e-290):  # equal but for rounding: too narrow to divide
            pad = max(0.5, 1e-6 * max(abs(low), abs(high)))
            low, high = low - pad, high + pad
        n_bars = int(np.clip(np.ceil(4 * len(scores) ** (1 / 3)), N_BARS // 2, MOST_BARS))
        counts = np.histogram(np.clip(scores, low, high), n_bars, (low, high))[0].astype(np.float64)
        is_log = bool(counts.max() > TALL)
        heights = np.log1p(counts) if is_log else counts

        def place(score: float) -> float:
            return round(float(np.clip((score - low) / (high - low), 0, 1)), 5)

        ticks = [(name, place(scores[row])) for name, code in LABELLED for row in np.flatnonzero(labels == code)]
        line = place(threshold) if threshold < NEVER else None
        return cls(low, high, highest, tuple((heights / heights.max()).round(4).tolist()), line, tuple(ticks), is_log)


LABELLED = (("anomaly", 1), ("normal", 0))


def _end(scores: Floats, threshold: float) -> float:
    """Where the axis ends: the highest score, or earlier where a few scores would squeeze all others."""
    low, most, top = (float(value) for value in np.quantile(scores, (0, 0.99, 1)))
    body = min(max(most, threshold), top) if threshold < NEVER else most
    return top if top - low <= LONG_TAIL * (body - low) or body <= low else low + 1.15 * (body - low)
