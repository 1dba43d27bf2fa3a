"""The people of a session: what each one answered, how long it took, and what each one is to do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, pairwise
from statistics import median

import numpy as np

from soel.assess.metrics import cohen_kappa, fleiss_kappa
from soel.session.answers import Vote
from soel.session.state import SessionState
from soel.types import ANOMALY, NORMAL

BREAK = 300.0  # seconds from which two answers are of two sittings


@dataclass(frozen=True)
class Person:
    """What one annotator did. n_aside: items skipped or left unsure.

    seconds: the usual time from answer to answer, None before two of one sitting. minutes: of all sittings.
    n_assigned: open items that are to be labelled by this person, who has not answered them yet.
    """

    name: str
    n_answers: int
    n_anomaly: int
    n_normal: int
    n_aside: int
    n_assigned: int
    seconds: float | None
    minutes: float


def measure_people(state: SessionState, seen: SessionState | None = None) -> tuple[Person, ...]:
    """Everybody who answered or is to answer, by name. seen: the state that verdicts are counted in (default: all)."""
    votes = defaultdict[str, list[Vote]](list)
    for answered in state.answers.values():
        for vote in answered.votes:
            votes[vote.who].append(vote)
    known = Counter((v.who, v.verdict.value) for answered in (seen or state).answers.values() for v in answered.votes)
    waiting = Counter(name for item in state.open for name in waiting_for(state, item))
    people = []
    for name in sorted({*votes, *waiting}):
        gaps = _gaps(votes[name])
        counts = known[name, "anomaly"], known[name, "normal"], known[name, "skip"] + known[name, "unsure"]
        pace = median(gaps) if gaps else None
        people.append(Person(name, len(votes[name]), *counts, waiting[name], pace, sum(gaps) / 60))
    return tuple(people)


def waiting_for(state: SessionState, item: str) -> tuple[str, ...]:
    """Who is to label an item and has not answered it."""
    return tuple(name for name in state.assigned.get(item, ()) if state.vote_of(item, name) is None)


def share_out(state: SessionState, names: Sequence[str]) -> dict[str, list[str]]:
    """The open items that nobody has answered, each for as many of these people as are to label it, in turn."""
    n_each = min(state.answers_per_item, len(names))
    turns = (names[turn % len(names)] for turn in range(len(state.open) * n_each))
    return {item: list(islice(turns, n_each)) for item in state.open if item not in state.answers}


def _gaps(votes: Sequence[Vote]) -> list[float]:
    """Seconds between two answers of one sitting. Answers that were stored together say nothing about time."""
    times = sorted({datetime.fromisoformat(vote.at) for vote in votes if vote.at})
    between = ((later - earlier).total_seconds() for earlier, later in pairwise(times))
    return [gap for gap in between if gap < BREAK]


@dataclass(frozen=True)
class Agreement:
    """Agreement beyond chance over the items that two or more annotators labelled.

    method: 'cohen' for two annotators, 'fleiss' for more, 'none' where nobody shares an item. kappa: 1 is full
    agreement, 0 what chance gives; None where it is undefined (nothing shared, or only one word was ever said).
    """

    method: str
    kappa: float | None
    annotators: tuple[str, ...]
    n_items: int
    n_same: int


def measure_agreement(state: SessionState) -> Agreement:
    """The agreement of all annotators who share items."""
    shared = [
        {vote.who: vote.label for vote in answered.votes if vote.label is not None}
        for answered in state.answers.values()
        if answered.n_labels > 1
    ]
    names = tuple(sorted({who for labels in shared for who in labels}))
    n_same = sum(len(set(labels.values())) == 1 for labels in shared)
    if not shared:
        return Agreement("none", None, names, 0, 0)
    if len(names) == 2:
        first, second = (np.array([labels[who] for labels in shared]) for who in names)
        return Agreement("cohen", _finite(cohen_kappa(first, second)), names, len(shared), n_same)
    counts = np.array([[list(labels.values()).count(code) for code in (NORMAL, ANOMALY)] for labels in shared])
    return Agreement("fleiss", _finite(fleiss_kappa(counts)), names, len(shared), n_same)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
