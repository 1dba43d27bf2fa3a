"""The people of a session: what each one answered, is to do, and is shown, so that no two look at the same item."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from soel.assess.metrics import cohen_kappa, fleiss_kappa
from soel.records import BESIDE
from soel.session.events import Answered, Vote
from soel.types import ANOMALY, NORMAL

if TYPE_CHECKING:
    from soel.session.state import SessionState


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
    """The open items without an answer, each for as many of these people as are to label it, in turn."""
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

    method: 'cohen' for two annotators, 'fleiss' for more, 'none' where no item is shared. kappa: 1 is full
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


AHEAD = timedelta(minutes=2)  # so far may the clocks of two servers of one session differ


@dataclass(frozen=True)
class Lease:
    """An item shown to an annotator. tab: which of the annotator's windows. since, until: times as text.

    Times are UTC in one fixed form, so that their order is that of the text.
    """

    item: str = field(metadata=BESIDE)
    who: str = field(metadata=BESIDE)
    since: str
    until: str
    tab: str = ""
    number: int = field(default=0, metadata=BESIDE)

    def __post_init__(self) -> None:
        if not datetime.fromisoformat(self.since) < datetime.fromisoformat(self.until):
            raise ValueError(f"it ends at {self.until} and starts at {self.since}")

    def is_live(self, at: str, vote: Vote | None) -> bool:
        """Whether it binds the item at this time. vote: what the annotator says about the item.

        An answer ends the lease; when the answer is taken back, the lease goes on. One that starts in the future was
        taken by a clock that ran ahead, and would bind the item for as long as that did: it binds nothing.
        """
        begun = datetime.fromisoformat(self.since) - AHEAD <= datetime.fromisoformat(at)
        return begun and self.until > at and (vote is None or vote.number < self.number)

    def runs_out(self, now: datetime) -> bool:
        """Whether less than half of it is left."""
        until, since = datetime.fromisoformat(self.until), datetime.fromisoformat(self.since)
        return until - now < (until - since) / 2


def as_text(moment: datetime) -> str:
    """A time as leases keep it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def new_lease(item: str, who: str, tab: str, now: datetime, minutes: float) -> Lease:
    """A lease that starts now."""
    return Lease(item, who, as_text(now), as_text(now + timedelta(minutes=minutes)), tab)


def is_free(
    answered: Answered | None,
    held: Iterable[Lease],
    who: str,
    at: str,
    n_wanted: int,
    assigned: Collection[str] = (),
) -> bool:
    """Whether an item may be shown to this annotator: fewer than `n_wanted` others did, or will.

    assigned: for whom the owner keeps a place; who sets the item aside gives it back.
    """
    votes = {} if answered is None else {vote.who: vote for vote in answered.votes}
    others = {name for name, vote in votes.items() if vote.is_label and name != who}
    others |= {lease.who for lease in held if lease.who != who and lease.is_live(at, votes.get(lease.who))}
    others |= {name for name in assigned if name != who and name not in votes}
    return len(others) < n_wanted


@dataclass(frozen=True)
class Turn:
    """What an annotator may be shown now, best first.

    held: leased by this tab already, so that a reload shows the same. free: to be leased. elsewhere: leased by
    another tab of the same annotator, which may be closed; only shown when nothing else is left.
    """

    held: tuple[Lease, ...]
    free: tuple[str, ...]
    elsewhere: tuple[str, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return (*(lease.item for lease in self.held), *self.free, *(() if self.held or self.free else self.elsewhere))


def turn_of(state: SessionState, who: str, tab: str, now: datetime) -> Turn:
    """The items for this annotator among those open: what is assigned to them first, what they set aside last."""
    at = as_text(now)
    held, own, free, aside, elsewhere = list[Lease](), list[str](), list[str](), list[str](), list[str]()
    for item in state.open:
        if item not in state.answers and item not in state.leases and item not in state.assigned:  # most of a round
            free.append(item)
            continue
        vote = state.vote_of(item, who)
        lease = next((lease for lease in state.leases.get(item, ()) if lease.who == who), None)
        if not _may_show(state, item, who, at):
            continue
        if lease is None or not lease.is_live(at, vote):
            (aside if vote is not None else own if who in state.assigned.get(item, ()) else free).append(item)
        elif lease.tab == tab:
            held.append(lease)
        else:
            elsewhere.append(item)
    return Turn(tuple(held), (*own, *free, *aside), tuple(elsewhere))


def _may_show(state: SessionState, item: str, who: str, at: str) -> bool:
    vote = state.vote_of(item, who)
    if vote is not None and (vote.is_label or vote.times_aside > 1):
        return False
    held, assigned = state.leases.get(item, ()), state.assigned.get(item, ())
    return is_free(state.answers.get(item), held, who, at, state.answers_per_item, assigned)
