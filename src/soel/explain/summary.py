"""What many explained rows have in common: the columns that drive them, a short rule, and groups of alike ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from soel.explain.explanation import Explanation
from soel.types import Floats

MOST_DRIVERS, MOST_GROUPS, FEWEST_ALIKE = 10, 8, 2
ALIKE = 0.8  # the cosine between two profiles from which rows are of one kind
NAMED_SHARE, MOST_NAMED = 0.7, 3  # a group is called after the columns that make up so much of it, at most three
MOST_CONDITIONS, BEAM = 3, 6
CUTS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of the wanted rows, at which conditions are tried
GAIN = 0.02  # by which a further condition must better a rule


@dataclass(frozen=True)
class Driver:
    """Columns that raise scores. share: of all that raises them. n_first: rows in which they come first."""

    columns: tuple[str, ...]
    share: float
    n_first: int


@dataclass(frozen=True)
class Group:
    """Rows that are raised by the same columns, by which they are called."""

    columns: tuple[str, ...]
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

    @property
    def precision(self) -> float:
        """How many of the rows that meet it are wanted."""
        return self.n_hits / self.n_met

    @property
    def recall(self) -> float:
        """How many of the wanted rows meet it."""
        return self.n_hits / self.n_wanted


def find_drivers(explanation: Explanation, most: int = MOST_DRIVERS) -> tuple[Driver, ...]:
    """The parts that raise these rows most, altogether."""
    shares = _shares(explanation)
    together, raised = shares.mean(axis=0), shares[shares.any(axis=1)]
    first = np.bincount(raised.argmax(axis=1), minlength=shares.shape[1])
    order = [int(part) for part in np.argsort(-together, kind="stable")[:most] if together[part] > 0]
    return tuple(Driver(explanation.names(part), float(together[part]), int(first[part])) for part in order)


def group_alike(explanation: Explanation, most: int = MOST_GROUPS) -> tuple[Group, ...]:
    """Rows of one kind, the largest group first; a row that is like no other is in none.

    The highest score leads, and a row joins what it is most like; groups that are called alike are one.
    """
    profiles = np.zeros((len(explanation), len(explanation.columns)))
    for part, columns in enumerate(explanation.parts):
        profiles[:, columns] += np.maximum(explanation.contributions[:, [part]], 0) / len(columns)
    lengths = np.linalg.norm(profiles, axis=1, keepdims=True)
    profiles /= np.where(lengths > 0, lengths, 1)
    leaders, members = list[Floats](), list[list[int]]()
    for row in np.argsort(-explanation.scores, kind="stable"):
        near = np.array([profiles[row] @ leader for leader in leaders])
        if len(near) and near.max() >= ALIKE:
            members[int(near.argmax())].append(int(row))
        else:
            leaders.append(profiles[row])
            members.append([int(row)])
    named: dict[frozenset[str], Group] = {}
    for rows in sorted(members, key=len, reverse=True):
        names = _name_columns(profiles[rows].mean(axis=0), explanation.columns)
        same = named.get(frozenset(names), Group(names, ()))
        named[frozenset(names)] = Group(same.columns, (*same.rows, *rows))
    found = [group for group in named.values() if group.columns and len(group.rows) >= FEWEST_ALIKE]
    return tuple(sorted(found, key=lambda group: -len(group.rows))[:most])


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


def _shares(explanation: Explanation) -> Floats:
    """What each part (n, p) is of all that raises a row."""
    raising = np.maximum(explanation.contributions, 0)
    total = raising.sum(axis=1) + np.maximum(explanation.remainder, 0)
    return np.asarray(raising / np.where(total > 0, total, 1)[:, None])


def _name_columns(profile: Floats, columns: Sequence[str]) -> tuple[str, ...]:
    order, total = np.argsort(-profile, kind="stable"), profile.sum()
    if total <= 0:
        return ()
    n = 1 + int(np.searchsorted(np.cumsum(profile[order]) / total, NAMED_SHARE))
    return tuple(columns[at] for at in order[: min(n, MOST_NAMED)])


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
