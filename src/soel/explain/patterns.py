"""What alarms have in common: kinds of alarms, alike by the groups of columns that suffice, each with a short rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from soel.explain.explanation import Explanation

FEWEST_ALIKE, MOST_PATTERNS = 2, 8
MOST_CONDITIONS, BEAM = 3, 6
CUTS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of the wanted rows, at which conditions are tried
GAIN = 0.02  # by which a further condition must better a rule


@dataclass(frozen=True)
class Pattern:
    """Alarms that the same groups of columns explain. groups: by position; rows: the highest score first."""

    groups: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Condition:
    """A value in a column that is at least, at most, or equal to another."""

    column: str
    sign: Literal["≥", "≤", "="]
    value: Any


@dataclass(frozen=True)
class Rule:
    """Conditions that hold together in `n_met` rows, of which `n_hits` are wanted, out of `n_wanted`."""

    conditions: tuple[Condition, ...]
    n_met: int
    n_hits: int
    n_wanted: int


def find_patterns(found: Explanation) -> tuple[Pattern, ...]:
    """Patterns of the rows that are explained, the largest first; a row that is like no other is in none.

    Rows with the same groups are alike; those whose groups nobody else has go by the group that contributes most.
    """
    own = {at: frozenset(each.group for each in row.reasons) for at, row in enumerate(found) if row.suffices}
    counts = Counter(own.values())
    members: dict[frozenset[int], list[int]] = {}
    for at in sorted(own, key=lambda at: -found[at].score):
        shared = own[at] if counts[own[at]] >= FEWEST_ALIKE else frozenset([found[at].reasons[0].group])
        members.setdefault(shared, []).append(at)
    patterns = [Pattern(tuple(sorted(groups)), tuple(rows)) for groups, rows in members.items()]
    large = [pattern for pattern in patterns if len(pattern.rows) >= FEWEST_ALIKE]
    return tuple(sorted(large, key=lambda pattern: -len(pattern.rows))[:MOST_PATTERNS])


def count_groups(found: Explanation) -> list[tuple[int, int]]:
    """Groups of columns, and in how many rows they are among those that suffice, the most frequent first."""
    own = [{each.group for each in row.reasons} for row in found if row.suffices]
    return Counter(group for groups in own for group in groups).most_common()


def find_rule(columns: Mapping[str, np.ndarray], wanted: np.ndarray) -> Rule | None:
    """The rule of at most three conditions that tells wanted rows (N,) from the others best; None where none does.

    Best: by precision and recall together, of which precision counts more. It is found on the same rows, so it flatters
    itself on others.
    """
    n_wanted = int(wanted.sum())
    if not n_wanted:
        return None
    tried = [(condition, _holds(columns[condition.column], condition)) for condition in _candidates(columns, wanted)]
    everyone = np.ones(len(wanted), bool)
    best: tuple[float, tuple[Condition, ...], np.ndarray] = (0.0, (), everyone)
    beam = [best]
    for _ in range(MOST_CONDITIONS):
        longer = [
            (_worth(met & holds, wanted), (*conditions, condition), met & holds)
            for _, conditions, met in beam
            for condition, holds in tried
            if condition not in conditions
        ]
        beam = sorted(longer, key=lambda each: -each[0])[:BEAM]
        if not beam or beam[0][0] < best[0] + GAIN:
            break
        best = beam[0]
    worth, conditions, met = best
    if worth < _worth(everyone, wanted) + GAIN:
        return None
    return Rule(conditions, int(met.sum()), int((met & wanted).sum()), n_wanted)


def _candidates(columns: Mapping[str, np.ndarray], wanted: np.ndarray) -> Iterator[Condition]:
    for name, column in columns.items():
        own = column[wanted]
        if column.dtype == np.float64:
            present = own[~np.isnan(own)]
            for cut in np.unique(np.quantile(present, CUTS, method="nearest")) if len(present) else ():
                yield Condition(name, "≥", float(cut))
                yield Condition(name, "≤", float(cut))
        elif column.dtype == object:
            words, counts = np.unique([word for word in own if word is not None], return_counts=True)
            for at in np.argsort(-counts, kind="stable")[: len(CUTS)]:
                yield Condition(name, "=", str(words[at]))


def _holds(column: np.ndarray, condition: Condition) -> np.ndarray:
    if condition.sign == "=":
        return np.asarray(column == condition.value, bool)
    with np.errstate(invalid="ignore"):
        return np.asarray(column >= condition.value if condition.sign == "≥" else column <= condition.value)


def _worth(met: np.ndarray, wanted: np.ndarray) -> float:
    """F of precision and recall, with the weight 0.5."""
    return 1.25 * float((met & wanted).sum()) / float(met.sum() + 0.25 * wanted.sum())
