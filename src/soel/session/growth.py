"""The next pool of a session: with more items, with corrected ones, or with fewer.

Every change makes a new pool from the one that holds: ids, features and origin of each item, beside the new data's own
files. A change that was overtaken by another one is made again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from soel.errors import DataError, SessionError
from soel.files import copy_whole, write_whole
from soel.images.source import is_media
from soel.session.config import NewPool, PoolRef
from soel.session.folder import MEDIA, SessionFolder, digest_of, write_patches, write_sample_notes
from soel.session.item_tables import read_encoder, read_rows_as, schema_of
from soel.session.pictures import read_more_pictures
from soel.session.pool import Growth, draw_corrected, draw_more, find_row_numbers, needs_copy, outgrows
from soel.session.session import Session
from soel.session.state import SessionState
from soel.tables.encoder import Encoder
from soel.tables.frame import read_frame
from soel.tables.open import copy_as_parquet
from soel.tables.read_options import DEFAULT
from soel.tables.schema import notes_of
from soel.text import name_some
from soel.types import Floats, Progress, Rows

MOST_TRIES = 20


@dataclass(frozen=True)
class NewItems:
    """Data on their way into a session. path: what is kept as their source. note: how to find pictures again.

    named: whether the ids are names that the data give; else they follow from the content. patches: (n, P, D) of
    pictures, where the session looks at places. notes: what reading the data left out.
    """

    ids: Sequence[str]
    features: Floats
    path: Path
    name: str
    named: bool
    note: bytes | None = None
    patches: Floats | None = None
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Keep the source and what goes with it."""
        copy_whole(self.path, folder / f"source{self.path.suffix.lower()}")
        if self.note is not None:
            write_whole(folder / MEDIA, self.note)
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
    """Make the new pool from the current one, again where another process changed it meanwhile."""
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
            "all the data, and take the answers over with `soel import`: it draws such a sample."
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
    every = [place.config.digests, *(pool.digests for pool in place.pools)]
    sources = {digest for digests in every for name, digest in digests.items() if name.startswith("source")}
    if len(known) == len(new.ids) or digest_of(new.path) in sources:
        raise DataError(f"All of {new.name} is in the session already; nothing was added.")


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
    ids, numbers = [item for item, stays in zip(place.ids, keep.tolist(), strict=True) if stays], place.numbers
    write = None if numbers is None else lambda folder: write_sample_notes(folder, place.all_data, numbers[keep])
    return NewPool(ids, np.array(place.pool[keep]), np.array(place.rows[keep]), ref, removed, write=write)


def add_data(
    session: Session, data: str | Path, replace: bool = False, who: str = "owner", progress: Progress | None = None
) -> PoolRef:
    """Take in more rows, pictures or clips; returns what changed. Labels stay, and questions are about all from now on.

    Columns are read as those of the session were. replace: items whose ids are known already take on the new content
    and keep their labels; without it, they are an error. Where ids follow from the content, equal items count as new
    ones without it, and as the same ones with it.
    """
    if session.folder.all_data:
        add = _correct_sample if replace else _add_to_sample
        return add(session, data, who, progress)
    if not replace and outgrows(session.folder, data):
        return _add_to_sample(session, data, who, progress)
    with _read_new(session.folder, Path(data), progress) as new:
        return change_pool(session, who, lambda state, place: grow(state, place, new, replace))


@contextmanager
def _read_new(place: SessionFolder, data: Path, progress: Progress | None) -> Iterator[NewItems]:
    """Ids and features of new items, read as the session's own were."""
    encoder = read_encoder(place)
    with tempfile.TemporaryDirectory(prefix="soel-add-") as folder:
        if place.has_pictures:
            found = read_more_pictures(place, data, Path(folder), progress)
            table = read_rows_as(found.path, replace(place.config, label_column=None), None)
            features = encoder.encode(read_frame(found.features))
            ids = table.ids.tolist()
            yield NewItems(ids, features, found.path, data.name, found.named, found.note, found.patches)
            return
        if data.is_dir() or (data.is_file() and is_media(data)):
            raise DataError(f"{data} holds pictures or parts, and the session's items are rows. Give a table.")
        path = copy_as_parquet(data, Path(folder), DEFAULT) if needs_copy(data, DEFAULT) else data
        table = read_rows_as(path, place.config, schema_of(place))
        named = place.config.id_column is not None
        notes = tuple(notes_of(table.frame.schema))
        yield NewItems(table.ids.tolist(), encoder.encode(table.frame), path, data.name, named, notes=notes)


def _add_to_sample(session: Session, data: str | Path, who: str, progress: Progress | None) -> PoolRef:
    """More data for a pool that is a sample, or becomes one: as if it had been drawn from all of them at once."""
    place, name = session.folder, Path(str(data)).name
    encoder = read_encoder(place)
    with tempfile.TemporaryDirectory(prefix="soel-add-") as folder:
        growth = draw_more(place, data, encoder, Path(folder), progress)
        return change_pool(session, who, lambda state, now: _resample(state, now, growth, encoder, name))


def _correct_sample(session: Session, data: str | Path, who: str, progress: Progress | None) -> PoolRef:
    """A corrected file for a pool that is a sample: its items take on the new content, and it is what is scored."""
    encoder = read_encoder(session.folder)

    def make(_state: SessionState, place: SessionFolder) -> NewPool:
        with tempfile.TemporaryDirectory(prefix="soel-add-") as folder:
            found = draw_corrected(place, data, encoder, Path(folder), progress)
            content = found.path.read_bytes()
            table = read_rows_as(found.path, place.config, encoder.how)
        features, rows = np.array(place.pool), np.array(place.rows)
        features[found.at] = encoder.encode(table.frame)
        rows[found.at] = [(len(place.pools) + 1, row) for row in range(len(found.at))]
        ref = PoolRef(what="add", data=Path(str(data)).name, n_replaced=len(found.at), notes=found.notes)

        def write(folder: Path) -> None:
            write_whole(folder / "source.parquet", content)
            write_sample_notes(folder, found.all_data, find_row_numbers(place))

        return NewPool(list(place.ids), features, rows, ref, write=write)

    return change_pool(session, who, make)


def _resample(state: SessionState, place: SessionFolder, growth: Growth, encoder: Encoder, name: str) -> NewPool:
    """Items that are not among the drawn rows give way, but for those that were answered or are asked now."""
    is_sample = bool(place.all_data)
    if len(place.all_data) + 1 != len(growth.all_data) if is_sample else len(place.pools) != growth.n_pools:
        raise SessionError("Other data were added meanwhile; nothing was changed. Add these again.")
    asked = set() if state.round is None else state.round.items
    numbers = find_row_numbers(place)
    keep = np.isin(numbers, growth.drawn)
    keep |= np.array([item in asked or item in state.answers for item in place.ids])
    ref = PoolRef(what="add", data=name, n_displaced=int((~keep).sum()), notes=growth.notes)
    pool = take_rows(place, keep, ref)
    if growth.path is None:
        return replace(pool, write=_stream_writer(growth, numbers[keep]))
    table = read_rows_as(growth.path, place.config, encoder.how)
    ids = table.ids.tolist()
    known = sorted(set(ids) & set(pool.ids))
    if known:
        raise DataError(
            f"Ids of {name} are in the session already, such as {name_some(known)}; nothing was added. Give each row "
            "of all data an id of its own."
        )
    origin = np.stack([np.full(len(ids), len(place.pools) + 1), np.arange(len(ids))], axis=1)
    return NewPool(
        [*pool.ids, *ids],
        np.concatenate([pool.features, encoder.encode(table.frame)]),
        np.concatenate([pool.rows, origin]),
        replace(ref, n_added=len(ids)),
        write=_stream_writer(growth, np.concatenate([numbers[keep], growth.drawn[growth.drawn >= growth.n_known]])),
    )


def _stream_writer(growth: Growth, numbers: Rows) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        if growth.path is not None:
            copy_whole(growth.path, folder / "source.parquet")
        write_sample_notes(folder, growth.all_data, numbers)

    return write
