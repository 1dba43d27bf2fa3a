"""Who is shown which item: leases, so that two people do not look at the same one, and what the owner assigned."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from soel.records import BESIDE
from soel.session.answers import Answered, Vote

if TYPE_CHECKING:
    from soel.session.state import SessionState


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
        """All of them in order."""
        return (*(lease.item for lease in self.held), *self.free, *(() if self.held or self.free else self.elsewhere))


def turn_of(state: SessionState, who: str, tab: str, now: datetime) -> Turn:
    """The items for this annotator among those open: what is assigned to them first, what they set aside last."""
    at = as_text(now)
    held, own, free, aside, elsewhere = list[Lease](), list[str](), list[str](), list[str](), list[str]()
    for item in state.open:
        if item not in state.answers and item not in state.leases and item not in state.assigned:  # most of a round
            free.append(item)
            continue
        vote, lease = state.vote_of(item, who), _own_lease(state, item, who)
        if not _may_show(state, item, who, at):
            continue
        if lease is None or not lease.is_live(at, vote):
            (aside if vote is not None else own if who in state.assigned.get(item, ()) else free).append(item)
        elif lease.tab == tab:
            held.append(lease)
        else:
            elsewhere.append(item)
    return Turn(tuple(held), (*own, *free, *aside), tuple(elsewhere))


def _own_lease(state: SessionState, item: str, who: str) -> Lease | None:
    return next((lease for lease in state.leases.get(item, ()) if lease.who == who), None)


def _may_show(state: SessionState, item: str, who: str, at: str) -> bool:
    vote = state.vote_of(item, who)
    if vote is not None and (vote.is_label or vote.times_aside > 1):
        return False
    held, assigned = state.leases.get(item, ()), state.assigned.get(item, ())
    return is_free(state.answers.get(item), held, who, at, state.answers_per_item, assigned)
