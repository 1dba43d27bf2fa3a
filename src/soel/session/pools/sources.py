"""The pool of a new session: a table as it is, a sample of a larger one, or the features of pictures."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from soel.images.picture_pool import MediaOptions, read_picture_pool
from soel.images.source import is_media
from soel.session.config import POOL_ROWS
from soel.session.folder import KEPT, MEDIA, STREAM, Whole, as_note
from soel.tables.encoder import Encoder
from soel.tables.frame import as_frame, find_kind
from soel.tables.options import DEFAULT, ReadOptions
from soel.tables.places import is_address
from soel.tables.session_streams import Write, draw_pool, find_stream
from soel.tables.streams import Stream
from soel.tables.table_files import is_dataset_folder
from soel.tables.tables import Table, copy_as_parquet, has_table_suffix, is_native, read_table
from soel.tables.thinning import write_sample
from soel.types import Floats, Kind, Progress


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
    """How a pool is drawn from a larger table. pool_rows: how many rows it has at most. write: who reads the parts."""

    pool_rows: int = POOL_ROWS
    seed: int = 0
    write: Write = write_sample


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
        pictures = read_picture_pool(data, id_column, label_column, media, Path(folder))
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
    path, id_column, whole = draw_pool(stream, sampling.pool_rows, sampling.seed, folder, progress, sampling.write)
    table = read_table(path, id_column, stream.exclude, stream.options)
    return PoolSource(path, table, id_column, whole.label_column, beside={STREAM: as_note([whole])})
