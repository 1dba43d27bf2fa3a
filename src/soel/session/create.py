"""Making a session from data, and opening one."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from soel.errors import SessionError
from soel.files import building, copy_whole, write_whole
from soel.images.picture_pool import MediaOptions, read_picture_pool
from soel.images.source import is_media
from soel.scoring.ray import Cluster, import_ray, run_parts
from soel.session import Session, SessionConfig, SessionFolder, SessionOptions, lay_out
from soel.session.folder import KEPT, MEDIA, SourceData, write_patches, write_sample_notes
from soel.session.pictures import on_cluster
from soel.session.samples import is_read_in_parts
from soel.session.store import new_store, open_store, strip_password
from soel.tables.address import is_address
from soel.tables.batches import DrawPart, Stream, draw_rows, join_sample, open_stream, write_sample
from soel.tables.encoder import Encoder
from soel.tables.frame import as_frame, find_kind
from soel.tables.look import inspect_frame
from soel.tables.open import Table, copy_as_parquet, has_table_suffix, is_native, read_table
from soel.tables.read_options import ReadOptions, as_options
from soel.types import Floats, Kind, Progress, Rows


def create_session(
    folder: Path,
    data: str | Path,
    options: SessionOptions | None = None,
    *,
    store: str | None = None,
    media: MediaOptions | None = None,
    cluster: Cluster | None = None,
    columns: ReadOptions | Mapping[str, Any] | None = None,
) -> Session:
    """Start a session. It is written beside the folder first, so that it appears whole or not at all.

    data: a path, or an fsspec address of a table. store: the address of a PostgreSQL database for the events (default:
    a file in the folder). media: how pictures are read, for data that are pictures. cluster: whose machines read data
    that a pool is drawn from. columns: how the columns of a table are to be read, where the automatic reading
    is not wanted.
    """
    from soel.deep import settle  # here: to open a session needs no learner, and must not wait for scipy

    options = options or SessionOptions()
    folder, wanted = Path(folder), options.method
    _check_free(folder)
    if wanted.vectors.patch_detector is None:
        media = replace(media or MediaOptions(), patches="no")
    if cluster is not None:
        import_ray()  # a missing extra is named before anything is read
    with read_pool(data, options, media or MediaOptions(), as_options(columns), cluster) as pool:
        table, kind = pool.table, wanted.kind_for(pool.kind(options.kind))
        encoder, features = pool.encode_items(wanted.scaling_for(kind))
        if pool.features is None:
            labels = table.excluded.get(pool.label_column or "")
            encoder = replace(encoder, schema=inspect_frame(table.frame, labels))
        if kind is Kind.TABLE:
            encoder = encoder.with_baseline(table.frame)
        chosen = settle(wanted, kind, features.shape[1], pool.patches is not None)
        budget = options.budget_for(len(table.ids))
        found = {"id_column": pool.id_column, "label_column": pool.label_column, "kind": str(kind), "budget": budget}
        config = SessionConfig(
            **vars(options) | found | {"profile": chosen.name},
            session=str(uuid.uuid4()),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            source=table.source,
            fingerprint=table.fingerprint,
            n_items=len(table.ids),
            settings=json.loads(json.dumps(chosen.to_json())),
            store=strip_password(store),
        )
        _build(folder, pool, config, encoder, features, store)
    return open_session(folder, store)


def open_session(folder: Path, store: str | None = None) -> Session:
    """The session in a folder. store: the address of its events, where the config's lacks a password or is outdated."""
    place = SessionFolder(Path(folder))
    _ = place.config  # says first that a folder is no session
    return Session(place, open_store(place, store))


def find_model(folder: Path) -> Path:
    """The model's folder of the last fit, if this is a session's folder; any other folder as it is."""
    if not (folder / "config.json").is_file():
        return folder
    with closing(open_session(folder)) as session:
        fit = session.state.fit
    if fit is None:
        raise SessionError(f"The session in {folder} has no fitted model yet; run `soel fit {folder}` first.")
    return folder / fit.model.folder


def _check_free(folder: Path) -> None:
    if (folder / "config.json").exists():
        raise SessionError(f"{folder} is a session already; choose another folder, or go on with that one.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SessionError(f"{folder} exists and is not empty; choose another folder.")


def _build(
    folder: Path, pool: PoolSource, config: SessionConfig, encoder: Encoder, features: Floats, store: str | None
) -> None:
    with building(folder, private=True) as partial:
        copy_whole(pool.path, partial / f"source{Path(config.source).suffix.lower()}")
        write_whole(partial / "encoder.json", json.dumps(encoder.to_json()).encode())
        new_store(partial, config, store).close()
        if pool.note is not None:
            write_whole(partial / MEDIA, pool.note)
        if pool.numbers is not None:
            write_sample_notes(partial, pool.all_data, pool.numbers)
        if pool.patches is not None:
            write_patches(partial, pool.patches)
        if pool.kept is not None:
            (partial / KEPT).mkdir()
            copy_whole(pool.kept, partial / KEPT / pool.kept.name)
        lay_out(partial, config, pool.table.ids.tolist(), features)


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
        return Encoder.fit(as_frame(self.features), "none"), self.features


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
