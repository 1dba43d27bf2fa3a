"""The next pool of a session: with more items, with corrected ones, or with fewer.

Every change makes a new pool from the one that holds: ids, features and origin of each item, beside the new data's own
files. A change that was overtaken by another one is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soel.durable import copy_whole, write_whole
from soel.errors import DataError, SessionError
from soel.session.digests import digest_of
from soel.session.folder import STREAM, SessionFolder, as_note, write_numbers, write_patches
from soel.session.pool_files import NewPool, PoolRef
from soel.session.session import Session
from soel.session.state import SessionState
from soel.types import Floats

MOST_TRIES = 20
N_SHOWN = 5


@dataclass(frozen=True)
class NewItems:
    """Data on their way into a session. path: what is kept as their source. beside: files that are kept with it.

    named: whether the ids are names that the data give; else they follow from the content. patches: (n, P, D) of
    pictures, where the session looks at places. notes: what reading the data left out.
    """

    ids: Sequence[str]
    features: Floats
    path: Path
    name: str
    named: bool
    beside: dict[str, bytes]
    patches: Floats | None = None
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Keep the source and what goes with it."""
        copy_whole(self.path, folder / f"source{self.path.suffix.lower()}")
        for name, content in self.beside.items():
            write_whole(folder / name, content)
        if self.patches is not None:
            write_patches(folder, self.patches)


def remove_items(session: Session, items: Sequence[str], who: str = "owner") -> PoolRef:
    """Take items out of the pool; what was said of them counts no more. Their events stay, and so do earlier pools."""
    if not items:
        raise SessionError("No item was named; give the ids of those to remove.")

    def shrink(state: SessionState, place: SessionFolder) -> NewPool:
        known, leaving = set(place.ids), set(items)
        unknown = [item for item in items if item not in known]
        if unknown:
            raise SessionError(f"This session has no item {name_some(unknown)}; nothing was removed. Check the ids.")
        keep = np.array([item not in leaving for item in place.ids])
        ref = PoolRef(what="remove", n_removed=len(leaving))
        return take_rows(place, keep, ref, removed=sorted(leaving))

    return change_pool(session, who, shrink)


def change_pool(session: Session, who: str, make: Callable[[SessionState, SessionFolder], NewPool]) -> PoolRef:
    """Make the new pool from what holds, until nobody was faster."""
    for _ in range(MOST_TRIES):
        state = session.state
        held = session.change_pool(state, make(state, session.folder_with(state.pools)), who)
        if held is not None:
            return held
    raise SessionError(f"{MOST_TRIES} times others changed the session meanwhile; nothing was changed. Try again.")


def grow(state: SessionState, place: SessionFolder, new: NewItems, replace_known: bool) -> NewPool:
    """The pool with new items at its end, and with the content of known ones exchanged where that is wanted."""
    row_of = {item: row for row, item in enumerate(place.ids)}
    known = [item for item in new.ids if item in row_of]
    if known and not replace_known:
        _refuse_known(place, new, known)
    ids = list(new.ids) if replace_known or new.named else _number_on(new.ids, {*row_of, *state.gone})
    old = np.array([row for row, item in enumerate(ids) if item in row_of], np.int64)
    fresh = np.array([row for row, item in enumerate(ids) if item not in row_of], np.int64)
    n_items = len(place.ids) + len(fresh)
    if len(fresh) and n_items > place.config.pool_rows:
        raise SessionError(
            f"The pool would have {n_items} items, more than its <<pool-rows={place.config.pool_rows}>>, and a fair "
            "sample of all rows needs an id column and no item that was removed or replaced. Start a session on "
            "all the data, and take the answers over with <<labels>>: it draws such a sample."
        )
    number, at = len(place.pools) + 1, [row_of[ids[row]] for row in old]
    features, rows = np.array(place.pool), np.array(place.rows)
    features[at], rows[at] = new.features[old], [(number, row) for row in old] if len(old) else rows[at]
    origin = np.stack([np.full(len(fresh), number), fresh], axis=1)
    added = [ids[row] for row in fresh]
    ref = PoolRef(what="add", data=new.name, n_added=len(added), n_replaced=len(old), notes=new.notes)
    return NewPool(
        [*place.ids, *added],
        np.concatenate([features, new.features[fresh]]),
        np.concatenate([rows, origin]),
        ref,
        returned=sorted(state.gone & set(added)),
        write=new.write,
    )


def _refuse_known(place: SessionFolder, new: NewItems, known: Sequence[str]) -> None:
    """Ids that are there already are an error; equal content is one only where a file brings nothing else."""
    if new.named:
        raise DataError(
            f"{len(known)} of the {len(new.ids)} ids of {new.name} are in the session already, such as "
            f"{name_some(known)}; nothing was added. For a corrected file, say <<replace=True>>."
        )
    if len(known) == len(new.ids) or digest_of(new.path) in _source_digests(place):
        raise DataError(f"All of {new.name} is in the session already; nothing was added.")


def _source_digests(place: SessionFolder) -> set[str]:
    """The digests of all sources that came in so far."""
    every = [place.config.digests, *(pool.digests for pool in place.pools)]
    return {digest for digests in every for name, digest in digests.items() if name.startswith("source")}


def _number_on(ids: Sequence[str], taken: set[str]) -> list[str]:
    """Ids from content, with the next free number for what equals an item that is there."""
    free, given = set(taken), []
    for item in ids:
        digest, _, number = item.rpartition("-")
        turn = int(number)
        while f"{digest}-{turn}" in free:
            turn += 1
        free.add(f"{digest}-{turn}")
        given.append(f"{digest}-{turn}")
    return given


def take_rows(place: SessionFolder, keep: np.ndarray, ref: PoolRef, removed: Sequence[str] = ()) -> NewPool:
    """Some of the items, with what belongs to them."""
    ids = [item for item, stays in zip(place.ids, keep.tolist(), strict=True) if stays]

    def write(folder: Path) -> None:
        if place.wholes:
            write_whole(folder / STREAM, as_note(place.wholes))
        if place.numbers is not None:
            write_numbers(folder, place.numbers[keep])

    return NewPool(ids, np.array(place.pool[keep]), np.array(place.rows[keep]), ref, removed, write=write)


def name_some(items: Sequence[str]) -> str:
    """The first few of these ids, in words."""
    return ", ".join(repr(item) for item in items[:N_SHOWN]) + (" and more" if len(items) > N_SHOWN else "")
