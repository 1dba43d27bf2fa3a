"""The data that a pool is drawn from: all of their rows, or a sample where they are more than a pool may have."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import SchemaError, SessionError
from soel.images.picture_pool import MediaOptions, read_picture_pool
from soel.images.source import is_media
from soel.numeric import ahead, nearest
from soel.scoring.ray import Cluster, run_parts
from soel.session import Session, SessionFolder, SessionOptions
from soel.session.config import POOL_ROWS
from soel.session.folder import KEPT, SourceData
from soel.session.item_tables import read_encoder
from soel.session.pictures import on_cluster
from soel.session.rounds import rows_of
from soel.tables.address import is_address
from soel.tables.batches import (
    SUFFIXES,
    DrawPart,
    Stream,
    chain,
    draw_rows,
    has_more_rows,
    join_sample,
    lies_in_files,
    open_stream,
    write_sample,
)
from soel.tables.encoder import Encoder
from soel.tables.frame import find_kind, read_frame
from soel.tables.open import Table, copy_as_parquet, has_table_suffix, is_native, read_table
from soel.tables.read_options import ReadOptions
from soel.tables.schema import Schema
from soel.types import Floats, Kind, Progress, Rows


@dataclass(frozen=True)
class PoolSource:
    """What a session starts from.

    path: the table to copy.
    features: None where the table itself is encoded.
    note: how to find pictures again, for a file beside it.
    patches: (N, P, D) of pictures, where their places are looked at.
    all_data, numbers: of a sample, where all the data lie, and which of their rows each item (N,) is.
    kept: a copy of all the data that a sample was drawn from, for the session to keep; None where they lie elsewhere.
    """

    path: Path
    table: Table
    id_column: str | None
    label_column: str | None
    features: Floats | None = None
    note: bytes | None = None
    patches: Floats | None = None
    all_data: tuple[SourceData, ...] = ()
    numbers: Rows | None = None
    kept: Path | None = None

    def kind(self, wanted: str) -> Kind:
        """What the rows are: features of pictures are vectors, whatever else is said of a table."""
        return find_kind(self.table.frame, wanted) if self.features is None else Kind.VECTORS

    def encode_items(self, scaling: str) -> tuple[Encoder, Floats]:
        """The encoder and the matrix it gives. Features of a network keep their scale: it carries meaning."""
        if self.features is None:
            encoder = Encoder.fit(self.table.frame, scaling)
            return encoder, encoder.encode(self.table.frame)
        return Encoder.fit(read_frame(self.features), "none"), self.features


@contextmanager
def read_pool(
    data: str | Path, options: SessionOptions, media: MediaOptions, columns: ReadOptions, cluster: Cluster | None = None
) -> Iterator[PoolSource]:
    """The pool of a path or an address. Files that it made for a sample or for pictures last as long as the context.

    Addresses and folders of Parquet files are read in parts, and so is a file with more than `options.pool_rows` rows.
    """
    label = [options.label_column] if options.label_column else []
    with tempfile.TemporaryDirectory(prefix="soel-pool-") as scratch:
        folder = Path(scratch)
        copy = copy_as_parquet(data, folder, columns) if needs_copy(data, columns) else None
        data = copy or data
        of_pictures = media.path_column is not None or (
            not is_address(data) and Path(data).is_file() and is_media(Path(data))
        )
        if not of_pictures and is_read_in_parts(data, options.pool_rows):
            stream = open_stream(data, options.id_column, label, columns)
            pool = _draw(stream, options, folder, media.progress, cluster)
            if copy is not None:  # the session keeps the copy and looks for all the data there
                all_data = tuple(replace(whole, address=f"{KEPT}/{copy.name}") for whole in pool.all_data)
                pool = replace(pool, all_data=all_data, kept=copy)
            yield pool
        elif not of_pictures and not is_media(Path(data)):
            table = read_table(data, options.id_column, label, columns)
            yield PoolSource(Path(data), table, options.id_column, options.label_column)
        else:
            spread = None if cluster is None else partial(on_cluster, cluster)
            found = read_picture_pool(Path(data), options.id_column, options.label_column, media, folder, spread)
            known = found.label_column
            table = read_table(found.path, "id", [known] if known else [])
            yield PoolSource(found.path, table, "id", known, found.features, found.note, found.patches)


def needs_copy(data: str | Path, columns: ReadOptions) -> bool:
    """Whether a table is kept as a copy: what is packed, a database, a sheet, or text in an encoding that was named."""
    if is_address(data):
        return columns.query is not None
    path = Path(data)
    known = path.is_file() and has_table_suffix(path) and not is_media(path)
    return known and (not is_native(path) or (columns.encoding is not None and path.suffix.lower() != ".parquet"))


def _draw(
    stream: Stream, options: SessionOptions, folder: Path, progress: Progress | None, cluster: Cluster | None
) -> PoolSource:
    """Draw a pool in one pass over a stream, here or on the machines of a cluster."""
    path = folder / f"{Path(stream.name).stem}.sample.parquet"
    rows = draw_rows(stream.n_rows, options.pool_rows, options.seed)
    if cluster is None:
        id_column = write_sample(stream, rows, path, progress)
    else:
        on_rows = None if progress is None else lambda done: progress(done, stream.n_rows)
        numbers = [part.number for part in stream.parts]
        drawn = list(run_parts(cluster, DrawPart(stream, rows), numbers, on_rows))
        id_column = join_sample(stream, sorted(drawn, key=lambda part: part.number), path)
    label_column = stream.exclude[0] if stream.exclude else None
    whole = SourceData(stream.address, stream.fingerprint, stream.n_rows, stream.id_column, label_column)
    table = read_table(path, id_column, stream.exclude, stream.options)
    return PoolSource(path, table, id_column, label_column, all_data=(whole,), numbers=rows)


def open_all(place: SessionFolder, encoder: Encoder) -> Stream:
    """All the data that the session's pool was drawn from; data that changed since are refused."""
    return chain([_open_same(place, whole, encoder.how) for whole in place.all_data])


@dataclass(frozen=True)
class Growth:
    """More data for a pool that is a sample. drawn: the numbers of the rows that a sample of all of them has.

    n_known: how many of them are the session's own. path: the drawn rows of the new data, None where none was drawn.
    all_data: where all the data lie by now. n_pools: how many the session had when this was drawn. notes: what reading
    the new data left out.
    """

    drawn: Rows
    n_known: int
    path: Path | None
    all_data: tuple[SourceData, ...]
    n_pools: int
    notes: tuple[str, ...]


def outgrows(place: SessionFolder, data: str | Path) -> bool:
    """Whether these data make a pool of all rows larger than it may be, and a fair sample of all can be drawn instead.

    That needs ids by which items stay what they are, and a pool that has every row of the session's tables.
    """
    config = place.config
    if place.all_data or place.has_pictures or config.id_column is None:
        return False
    return is_read_in_parts(data, config.pool_rows - place.n_items) and _own_data(place, read_encoder(place)) != ()


def draw_more(
    place: SessionFolder, data: str | Path, encoder: Encoder, folder: Path, progress: Progress | None = None
) -> Growth:
    """Draw from the session's data and these together, and write the rows of the new ones that were drawn.

    The random number of a row belongs to its position, and new rows are numbered on: so the sample is the one that all
    the data would have given at once.
    """
    config, known = place.config, place.all_data or _own_data(place, encoder)
    first = known[0]
    label = [first.label_column] if first.label_column else []
    new = open_stream(data, first.id_column, label, schema=encoder.how)
    old = chain([_open_same(place, whole, encoder.how) for whole in known])
    both, n_known = chain([*(old.links or (old,)), new]), old.n_rows
    drawn = draw_rows(both.n_rows, config.pool_rows, config.seed)
    fresh = drawn[drawn >= n_known]
    whole = SourceData(new.address, new.fingerprint, new.n_rows, new.id_column, first.label_column)
    path = folder / f"{Path(new.name).stem}.parquet" if len(fresh) else None
    if path is not None:
        write_sample(both, fresh, path, progress)
    return Growth(drawn, n_known, path, (*known, whole), len(place.pools), new.notes)


@dataclass(frozen=True)
class Correction:
    """A corrected file for a pool that is a sample. at: the rows of the pool that it corrects, in the order of path.

    path: the corrected rows. all_data: where all the data lie by now. notes: what reading the file left out.
    """

    at: Rows
    path: Path
    all_data: tuple[SourceData, ...]
    notes: tuple[str, ...]


def draw_corrected(
    place: SessionFolder, data: str | Path, encoder: Encoder, folder: Path, progress: Progress | None = None
) -> Correction:
    """The rows of a corrected file that are items. It takes the place of the data with the same rows."""
    first, numbers, start = place.all_data[0], find_row_numbers(place), 0
    new = _open(data, first.id_column, first.label_column, encoder.how)
    for turn, whole in enumerate(place.all_data):
        at = np.flatnonzero((numbers >= start) & (numbers < start + whole.n_rows))
        at = at[np.argsort(numbers[at])]
        rows, start = numbers[at] - start, start + whole.n_rows
        if whole.n_rows != new.n_rows or not len(at):
            continue
        path = folder / f"{Path(new.name).stem}.parquet"
        id_column = write_sample(new, rows, path, progress)
        if first.id_column is None or _ids_in(path, id_column) == [place.ids[row] for row in at]:
            corrected = SourceData(new.address, new.fingerprint, new.n_rows, whole.id_column, whole.label_column)
            return Correction(at, path, (*place.all_data[:turn], corrected, *place.all_data[turn + 1 :]), new.notes)
    sizes = ", ".join(f"{Path(whole.address).name} with {whole.n_rows}" for whole in place.all_data)
    raise SessionError(
        f"{new.name} has {new.n_rows} rows and corrects none of the session's data ({sizes} rows). The pool is a "
        "sample of them, so a corrected file needs all rows of the one that it replaces, with the same ids in "
        "the same order."
    )


def find_row_numbers(place: SessionFolder) -> Rows:
    """The number, among all rows, of each item (N,): of a sample as they were written, else every row is an item."""
    return np.arange(place.n_items) if place.numbers is None else np.asarray(place.numbers)


def _own_data(place: SessionFolder, encoder: Encoder) -> tuple[SourceData, ...]:
    """The session's own copies as data that a sample is drawn from; none where some of their rows are no items."""
    config, all_data = place.config, list[SourceData]()
    for number, pool in enumerate(place.pools, 1):
        if number == 1 or pool.n_added:
            path = place.part(number).source
            if path.suffix.lower() not in SUFFIXES:
                return ()
            stream = _open(path, config.id_column, config.label_column, encoder.how)
            label = config.label_column if stream.exclude else None
            address = path.relative_to(place.path).as_posix()
            all_data.append(SourceData(address, stream.fingerprint, stream.n_rows, config.id_column, label))
    in_order = np.array_equal(place.rows[:, 1], np.concatenate([np.arange(whole.n_rows) for whole in all_data]))
    return tuple(all_data) if in_order else ()


def _ids_in(path: Path, id_column: str) -> list[str]:
    """The ids of drawn rows."""
    column = import_module("pyarrow.parquet").read_table(path, columns=[id_column]).column(id_column)
    return [str(item) for item in column.to_pylist()]


def _open_same(place: SessionFolder, whole: SourceData, schema: Schema) -> Stream:
    address = whole.address if is_address(whole.address) else place.path / whole.address
    stream = _open(address, whole.id_column, whole.label_column, schema)
    if stream.fingerprint != whole.fingerprint:
        raise SessionError(
            f"{address} was changed after the session started. Bring the old files back, or name the new ones "
            "with <<data>>."
        )
    return stream


def find_scored_stream(place: SessionFolder, data: str | Path | None, encoder: Encoder) -> Stream | None:
    """What is to be scored, the session's own rows or these, as a stream; None where it fits into memory."""
    if data is None:
        return open_all(place, encoder) if place.all_data else None
    return None if place.has_pictures else _open_other(place, data, encoder)


def _open_other(place: SessionFolder, data: str | Path, encoder: Encoder) -> Stream | None:
    """Other rows as a stream; None where they are few enough to be read at once, as the session's own were."""
    config, all_data = place.config, place.all_data
    if all_data:
        return _open(data, all_data[0].id_column, all_data[0].label_column, encoder.how)
    if not is_read_in_parts(data, POOL_ROWS):
        return None
    return _open(data, config.id_column, config.label_column, encoder.how)


def _open(data: str | Path, id_column: str | None, label_column: str | None, schema: Schema) -> Stream:
    """A stream; its label column may be there or not."""
    if label_column:
        try:
            return open_stream(data, id_column, [label_column], schema=schema)
        except SchemaError:
            pass
    return open_stream(data, id_column, (), schema=schema)


def is_read_in_parts(data: str | Path, n_rows: int) -> bool:
    """Whether data are read part by part: where they lie, or because they have more rows than this."""
    return lies_in_files(data) or has_more_rows(Path(data), n_rows)


# What thinning costs: how far the farthest row lies from a query, over the pool and over all the data


@dataclass(frozen=True)
class CoverRadius:
    """The largest distance from a row to the nearest of the `n_queries` rows asked about or labelled, by the model that
    drew them. pool: over the pool. whole: over all `n_rows` rows.
    """

    n_queries: int
    pool: float
    whole: float
    n_rows: int


def measure_cover(session: Session, encoder: Encoder, progress: Progress | None = None) -> CoverRadius | None:
    """The cover of the last round of a thinned session, in one pass over all rows.

    None where there is nothing to compare, and where the space is a network's: a pass would take as long as scoring.
    """
    place = session.folder
    drawn = session.state.round
    if drawn is None or place.n_rows is None or place.n_rows == place.n_items:
        return None
    space = find_space(session.load_model(drawn.model))
    if space is None:
        return None
    queried = {draw.item for draw in drawn.draws[: len(drawn.asked)]} | set(session.state.labels)
    rows = list(rows_of(place.ids, queried).values())
    points = space(np.asarray(place.pool[rows]))
    pool = max(_farthest(space(block), points) for block in _blocks(place.pool))
    stream, whole, n_done = open_all(place, encoder), 0.0, 0
    blocks = (block.frame for part in stream.parts for block in stream.blocks(part))
    for x in ahead(map(encoder.encode, blocks)):
        whole, n_done = max(whole, _farthest(space(x), points)), n_done + len(x)
        if progress is not None:
            progress(n_done, stream.n_rows)
    return CoverRadius(len(rows), pool, whole, stream.n_rows)


def find_space(model: Any) -> Callable[[Floats], Floats] | None:
    """What turns encoded rows into the points between which the detector measures; None without one."""
    detector = model.detector
    return None if detector is None else detector.space


def _blocks(pool: Floats, size: int = 32_768) -> Iterator[Floats]:
    for start in range(0, len(pool), size):
        yield np.asarray(pool[start : start + size])


def _farthest(x: Floats, points: Floats) -> float:
    """The largest distance from a row (n, d) to the nearest point (k, d)."""
    return float(nearest(x.astype(np.float64), points.astype(np.float64)).max())
