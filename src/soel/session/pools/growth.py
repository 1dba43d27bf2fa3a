"""More data for a session, read as its own were. Features are made for new items only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from soel.durable import copy_whole, write_whole
from soel.errors import DataError, SessionError
from soel.images.picture_pool import read_more_pictures
from soel.images.source import is_media
from soel.session import Session, SessionFolder, SessionState
from soel.session.folder import MEDIA, STREAM, as_note, write_numbers
from soel.session.growth import NewItems, change_pool, grow, name_some, take_rows
from soel.session.pool_files import NewPool, PoolRef
from soel.session.pools.sources import needs_copy
from soel.tables.encoder import Encoder
from soel.tables.frame import as_frame
from soel.tables.options import DEFAULT
from soel.tables.schema import notes_of
from soel.tables.session_streams import Growth, draw_corrected, draw_more, find_row_numbers, outgrows
from soel.tables.session_tables import read_encoder, read_rows_as, schema_of
from soel.tables.tables import copy_as_parquet
from soel.types import Progress, Rows


def add_data(
    session: Session, data: str | Path, replace: bool = False, who: str = "owner", progress: Progress | None = None
) -> PoolRef:
    """Take in more rows, pictures or clips; returns what changed. Labels stay, and questions are about all from now on.

    Columns are read as those of the session were. replace: items whose ids are known already take on the new content
    and keep their labels; without it, they are an error. Where ids follow from the content, equal items count as new
    ones without it, and as the same ones with it.
    """
    if session.folder.wholes:
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
            features = encoder.encode(as_frame(found.features))
            beside, ids = {MEDIA: found.note}, table.ids.tolist()
            yield NewItems(ids, features, found.path, data.name, found.named, beside, found.patches)
            return
        if data.is_dir() or (data.is_file() and is_media(data)):
            raise DataError(f"{data} holds pictures or parts, and the session's items are rows. Give a table.")
        path = copy_as_parquet(data, Path(folder), DEFAULT) if needs_copy(data, DEFAULT) else data
        table = read_rows_as(path, place.config, schema_of(place))
        named = place.config.id_column is not None
        notes = tuple(notes_of(table.frame.schema))
        yield NewItems(table.ids.tolist(), encoder.encode(table.frame), path, data.name, named, {}, notes=notes)


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
            write_whole(folder / STREAM, as_note(found.wholes))
            write_numbers(folder, find_row_numbers(place))

        return NewPool(list(place.ids), features, rows, ref, write=write)

    return change_pool(session, who, make)


def _resample(state: SessionState, place: SessionFolder, growth: Growth, encoder: Encoder, name: str) -> NewPool:
    """Items that are not among the drawn rows give way, but for those that were answered or are asked now."""
    is_sample = bool(place.wholes)
    if len(place.wholes) + 1 != len(growth.wholes) if is_sample else len(place.pools) != growth.n_pools:
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
        write_whole(folder / STREAM, as_note(growth.wholes))
        write_numbers(folder, numbers)

    return write
