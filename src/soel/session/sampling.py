"""Data larger than a pool: when they are read in parts, how a pool is drawn from them, and where the rest lies."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

import numpy as np

from soel.errors import SchemaError, SessionError
from soel.images.source import is_media
from soel.scoring.ray import Cluster, reachable, run_parts
from soel.session import SessionFolder
from soel.session.config import POOL_ROWS
from soel.session.folder import KEPT, MEDIA, STREAM, Whole, as_note
from soel.session.items import read_encoder
from soel.session.pictures import MediaOptions, read_picture_pool
from soel.tables.encoder import Encoder
from soel.tables.formats import is_dataset_folder
from soel.tables.frame import as_frame, find_kind
from soel.tables.location import is_address
from soel.tables.open import Table, copy_as_parquet, has_table_suffix, is_native, read_table
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.row_sample import DrawPart, draw_rows, join_sample, write_sample
from soel.tables.streams import SUFFIXES, Stream, chain, has_more_rows, lies_in_files, open_stream
from soel.tables.table_schema import Schema
from soel.types import Floats, Kind, Progress, Rows


def find_stream(
    data: str | Path,
    id_column: str | None,
    label_column: str | None,
    pool_rows: int,
    columns: ReadOptions = DEFAULT,
) -> Stream | None:
    """The data as a stream if they are to be read in parts; None for a file that is a pool as it is.

    Addresses and folders of Parquet files always are; a file is if it has more than `pool_rows` rows.
    """
    if not _is_read_in_parts(data, pool_rows):
        return None
    return open_stream(data, id_column, [label_column] if label_column else [], columns)


def draw_pool(
    stream: Stream,
    n_rows: int,
    seed: int,
    folder: Path,
    progress: Progress | None = None,
    cluster: Cluster | None = None,
) -> tuple[Path, str, Whole]:
    """Draw a pool in one pass and write it into the folder; returns its file, its id column and where the rest is."""
    path = folder / f"{Path(stream.name).stem}.sample.parquet"
    rows = draw_rows(stream.n_rows, n_rows, seed)
    if cluster is None:
        id_column = write_sample(stream, rows, path, progress)
    else:
        id_column = _write_sample_on(cluster, stream, rows, path, progress)
    label_column = stream.exclude[0] if stream.exclude else None
    return path, id_column, Whole(stream.address, stream.fingerprint, stream.n_rows, stream.id_column, label_column)


def _write_sample_on(cluster: Cluster, stream: Stream, rows: Rows, path: Path, progress: Progress | None) -> str:
    """What `write_sample` does, with the parts read on the machines of a cluster."""
    on_rows = None if progress is None else lambda done: progress(done, stream.n_rows)
    numbers = [part.number for part in stream.parts]
    with reachable(cluster, stream) as there:
        drawn = list(run_parts(cluster, DrawPart(there, rows), numbers, on_rows))
    return join_sample(stream, sorted(drawn, key=lambda part: part.number), path)


def open_whole(place: SessionFolder, encoder: Encoder) -> Stream:
    """All the data that the session's pool was drawn from; data that changed since are refused."""
    return chain([_open_same(place, whole, encoder.how) for whole in place.wholes])


@dataclass(frozen=True)
class Growth:
    """More data for a pool that is a sample. drawn: the numbers of the rows that a sample of all of them has.

    n_known: how many of them are the session's own. path: the drawn rows of the new data, None where none was drawn.
    wholes: where all the data lie by now. n_pools: how many the session had when this was drawn. notes: what reading
    the new data left out.
    """

    drawn: Rows
    n_known: int
    path: Path | None
    wholes: tuple[Whole, ...]
    n_pools: int
    notes: tuple[str, ...]


def outgrows(place: SessionFolder, data: str | Path) -> bool:
    """Whether these data make a pool of all rows larger than it may be, and a fair sample of all can be drawn instead.

    That needs ids by which items stay what they are, and a pool that has every row of the session's tables.
    """
    config = place.config
    if place.wholes or place.has_pictures or config.id_column is None:
        return False
    return _is_read_in_parts(data, config.pool_rows - place.n_items) and _keep_wholes(place, read_encoder(place)) != ()


def draw_more(
    place: SessionFolder, data: str | Path, encoder: Encoder, folder: Path, progress: Progress | None = None
) -> Growth:
    """Draw from the session's data and these together, and write the rows of the new ones that were drawn.

    A row's luck belongs to its number, and the new rows are numbered on: so the sample is the one that all the data
    would have given at once.
    """
    config, known = place.config, place.wholes or _keep_wholes(place, encoder)
    first = known[0]
    label = [first.label_column] if first.label_column else []
    new = open_stream(data, first.id_column, label, schema=encoder.how)
    old = chain([_open_same(place, whole, encoder.how) for whole in known])
    both, n_known = chain([*(old.links or (old,)), new]), old.n_rows
    drawn = draw_rows(both.n_rows, config.pool_rows, config.seed)
    fresh = drawn[drawn >= n_known]
    whole = Whole(new.address, new.fingerprint, new.n_rows, new.id_column, first.label_column)
    path = folder / f"{Path(new.name).stem}.parquet" if len(fresh) else None
    if path is not None:
        write_sample(both, fresh, path, progress)
    return Growth(drawn, n_known, path, (*known, whole), len(place.pools), new.notes)


@dataclass(frozen=True)
class Correction:
    """A corrected file for a pool that is a sample. at: the rows of the pool that it corrects, in the order of path.

    path: the corrected rows. wholes: where all the data lie by now. notes: what reading the file left out.
    """

    at: Rows
    path: Path
    wholes: tuple[Whole, ...]
    notes: tuple[str, ...]


def draw_corrected(
    place: SessionFolder, data: str | Path, encoder: Encoder, folder: Path, progress: Progress | None = None
) -> Correction:
    """The rows of a corrected file that are items. It takes the place of the data with the same rows."""
    first, numbers, start = place.wholes[0], find_row_numbers(place), 0
    new = _open(data, first.id_column, first.label_column, encoder.how)
    for turn, whole in enumerate(place.wholes):
        at = np.flatnonzero((numbers >= start) & (numbers < start + whole.n_rows))
        at = at[np.argsort(numbers[at])]
        rows, start = numbers[at] - start, start + whole.n_rows
        if whole.n_rows != new.n_rows or not len(at):
            continue
        path = folder / f"{Path(new.name).stem}.parquet"
        id_column = write_sample(new, rows, path, progress)
        if first.id_column is None or _ids_in(path, id_column) == [place.ids[row] for row in at]:
            corrected = Whole(new.address, new.fingerprint, new.n_rows, whole.id_column, whole.label_column)
            return Correction(at, path, (*place.wholes[:turn], corrected, *place.wholes[turn + 1 :]), new.notes)
    sizes = ", ".join(f"{Path(whole.address).name} with {whole.n_rows}" for whole in place.wholes)
    raise SessionError(
        f"{new.name} has {new.n_rows} rows and corrects none of the session's data ({sizes} rows). The pool is a "
        "sample of them, so a corrected file needs all rows of the one that it replaces, with the same ids in "
        "the same order."
    )


def find_row_numbers(place: SessionFolder) -> Rows:
    """The number, among all rows, of each item of a pool that is a sample: (N,)."""
    if place.numbers is not None:
        return np.asarray(place.numbers)
    if not place.wholes:
        return np.arange(place.n_items)  # every row is an item
    config, numbers, start = place.config, dict[int, Rows](), 0
    counts = _rows_by_pool(place)
    for number, n_rows in counts.items():
        drawn = draw_rows(start + n_rows, config.pool_rows, config.seed)
        numbers[number] = drawn[drawn >= start]
        start += n_rows
    return np.array([numbers[part][row] for part, row in place.rows.tolist()], np.int64)


def _keep_wholes(place: SessionFolder, encoder: Encoder) -> tuple[Whole, ...]:
    """The session's own copies as data that a sample is drawn from; none where some of their rows are no items."""
    config, wholes = place.config, list[Whole]()
    for number, pool in enumerate(place.pools, 1):
        if number == 1 or pool.n_added:
            path = place.part(number).source
            if path.suffix.lower() not in SUFFIXES:
                return ()
            stream = _open(path, config.id_column, config.label_column, encoder.how)
            label = config.label_column if stream.exclude else None
            address = path.relative_to(place.path).as_posix()
            wholes.append(Whole(address, stream.fingerprint, stream.n_rows, config.id_column, label))
    in_order = np.array_equal(place.rows[:, 1], np.concatenate([np.arange(whole.n_rows) for whole in wholes]))
    return tuple(wholes) if in_order else ()


def _ids_in(path: Path, id_column: str) -> list[str]:
    """The ids of drawn rows."""
    column = import_module("pyarrow.parquet").read_table(path, columns=[id_column]).column(id_column)
    return [str(item) for item in column.to_pylist()]


def _rows_by_pool(place: SessionFolder) -> dict[int, int]:
    """How many rows came with each pool that brought data."""
    counts, known = dict[int, int](), 0
    for number in range(1, len(place.pools) + 1):
        wholes = place.part(number).wholes
        if len(wholes) > known:
            counts[number] = wholes[-1].n_rows
            known = len(wholes)
    return counts


def _open_same(place: SessionFolder, whole: Whole, schema: Schema) -> Stream:
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
        return open_whole(place, encoder) if place.wholes else None
    return None if place.has_pictures else _open_other(place, data, encoder)


def _open_other(place: SessionFolder, data: str | Path, encoder: Encoder) -> Stream | None:
    """Other rows as a stream; None where they are few enough to be read at once, as the session's own were."""
    config, wholes = place.config, place.wholes
    if wholes:
        return _open(data, wholes[0].id_column, wholes[0].label_column, encoder.how)
    if not _is_read_in_parts(data, POOL_ROWS):
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


def _is_read_in_parts(data: str | Path, n_rows: int) -> bool:
    """Whether data are read part by part: where they lie, or because they have more rows than this."""
    return lies_in_files(data) or has_more_rows(Path(data), n_rows)


@dataclass(frozen=True)
class PoolSource:
    """What a session starts from. path: the table to copy. features: None where the table itself is encoded.

    beside: files to be written beside it. patches: (N, P, D) of pictures, where their places are looked at.
    whole: a copy of all the data that the pool was drawn from, for the session to keep; None where they lie elsewhere.
    """

    path: Path
    table: Table
    id_column: str | None
    label_column: str | None
    features: Floats | None = None
    beside: Mapping[str, bytes] = field(default_factory=dict)
    patches: Floats | None = None
    whole: Path | None = None

    def kind(self, wanted: str) -> Kind:
        """What the rows are: features of pictures are vectors, whatever else is said of a table."""
        return find_kind(self.table.frame, wanted) if self.features is None else Kind.VECTORS

    def encode_items(self, scaling: str) -> tuple[Encoder, Floats]:
        """The encoder and the matrix it gives. Features of a network keep their scale: it carries meaning."""
        if self.features is None:
            encoder = Encoder.fit(self.table.frame, scaling)
            return encoder, encoder.encode(self.table.frame)
        return Encoder.fit(as_frame(self.features), "none"), self.features


@dataclass(frozen=True)
class Sampling:
    """How a pool is drawn from a larger table.

    pool_rows: how many rows it has at most. cluster: whose machines read the parts, None for this one.
    """

    pool_rows: int = POOL_ROWS
    seed: int = 0
    cluster: Cluster | None = None


@contextmanager
def read_pool(
    data: str | Path,
    id_column: str | None,
    label_column: str | None,
    media: MediaOptions | None = None,
    sampling: Sampling | None = None,
    columns: ReadOptions = DEFAULT,
) -> Iterator[PoolSource]:
    """The pool of a path or an address. Files that it made for a sample or for pictures last as long as the context."""
    media, sampling = media or MediaOptions(), sampling or Sampling()
    if needs_copy(data, columns):
        with tempfile.TemporaryDirectory(prefix="soel-table-") as folder:
            copy = copy_as_parquet(data, Path(folder), columns)
            with read_pool(copy, id_column, label_column, media, sampling, columns) as pool:
                yield _with_whole(pool, copy)
        return
    stream = _stream(data, id_column, label_column, media, sampling, columns)
    if stream is not None:
        with tempfile.TemporaryDirectory(prefix="soel-sample-") as folder:
            yield _draw(stream, sampling, Path(folder), media.progress)
        return
    data = Path(data)
    if media.path_column is None and not is_media(data):
        table = read_table(data, id_column, [label_column] if label_column else [], columns)
        yield PoolSource(data, table, id_column, label_column)
        return
    with tempfile.TemporaryDirectory(prefix="soel-items-") as folder:
        pictures = read_picture_pool(data, id_column, label_column, media, Path(folder), sampling.cluster)
        known = pictures.label_column
        table = read_table(pictures.path, "id", [known] if known else [])
        beside = {MEDIA: pictures.note}
        yield PoolSource(pictures.path, table, "id", known, pictures.features, beside, pictures.patches)


def needs_copy(data: str | Path, columns: ReadOptions) -> bool:
    """Whether a table is kept as a copy: what is packed, a database, a sheet, or text in an encoding that was named."""
    if is_address(data):
        return columns.query is not None
    path = Path(data)
    if is_dataset_folder(path):
        return True
    known = path.is_file() and has_table_suffix(path) and not is_media(path)
    return known and (not is_native(path) or (columns.encoding is not None and path.suffix.lower() != ".parquet"))


def _with_whole(pool: PoolSource, copy: Path) -> PoolSource:
    """The pool of a copy. Where it is a sample, the session keeps the copy and looks for all the data there."""
    if STREAM not in pool.beside:
        return pool
    note = json.loads(pool.beside[STREAM]) | {"address": f"{KEPT}/{copy.name}"}
    return replace(pool, beside={**pool.beside, STREAM: as_note([Whole(**note)])}, whole=copy)


def _stream(
    data: str | Path,
    id_column: str | None,
    label_column: str | None,
    media: MediaOptions,
    sampling: Sampling,
    columns: ReadOptions,
) -> Stream | None:
    """The data as a stream where a pool has to be drawn from them; pictures in a .npy file are none."""
    if media.path_column is not None or (not is_address(data) and Path(data).is_file() and is_media(Path(data))):
        return None
    return find_stream(data, id_column, label_column, sampling.pool_rows, columns)


def _draw(stream: Stream, sampling: Sampling, folder: Path, progress: Progress | None) -> PoolSource:
    path, id_column, whole = draw_pool(stream, sampling.pool_rows, sampling.seed, folder, progress, sampling.cluster)
    table = read_table(path, id_column, stream.exclude, stream.options)
    return PoolSource(path, table, id_column, whole.label_column, beside={STREAM: as_note([whole])})
