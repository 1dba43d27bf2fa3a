"""Data larger than a pool: when they are read in parts, how a pool is drawn from them, and where the rest lies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from soel.data.encoder import Encoder
from soel.data.reading.kinds import TableReading
from soel.data.reading.options import DEFAULT, ReadOptions
from soel.data.streams import Stream, has_more_rows, lies_in_files, open_stream
from soel.data.thinning import draw_rows, write_sample
from soel.errors import SchemaError, SessionError
from soel.session import Session
from soel.session.config import POOL_ROWS
from soel.session.folder import Whole
from soel.types import Progress, Rows

Write = Callable[[Stream, Rows, Path, Progress | None], str]


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
    stream: Stream, n_rows: int, seed: int, folder: Path, progress: Progress | None = None, write: Write = write_sample
) -> tuple[Path, str, Whole]:
    """Draw a pool in one pass and write it into the folder; returns its file, its id column and where the rest is."""
    path = folder / f"{Path(stream.name).stem}.sample.parquet"
    id_column = write(stream, draw_rows(stream.n_rows, n_rows, seed), path, progress)
    label_column = stream.exclude[0] if stream.exclude else None
    return path, id_column, Whole(stream.address, stream.fingerprint, stream.n_rows, stream.id_column, label_column)


def as_note(whole: Whole) -> bytes:
    """What is kept beside the pool."""
    return json.dumps(asdict(whole), ensure_ascii=False, indent=1).encode()


def open_whole(session: Session, encoder: Encoder) -> Stream:
    """All the data that the session's pool was drawn from; data that changed since are refused."""
    whole = session.folder.whole
    assert whole is not None
    stream = _open(whole.address, whole.id_column, whole.label_column, encoder.how)
    if stream.fingerprint != whole.fingerprint:
        raise SessionError(
            f"{whole.address} was changed after the session started. Bring the old files back, or name the new ones "
            "with --data."
        )
    return stream


def open_other(session: Session, data: str | Path, encoder: Encoder) -> Stream | None:
    """Other rows as a stream; None where they are few enough to be read at once, as the session's own were."""
    config, whole = session.config, session.folder.whole
    if whole is not None:
        return _open(data, whole.id_column, whole.label_column, encoder.how)
    if not _is_read_in_parts(data, POOL_ROWS):
        return None
    return _open(data, config.id_column, config.label_column, encoder.how)


def _open(data: str | Path, id_column: str | None, label_column: str | None, reading: TableReading) -> Stream:
    """A stream; its label column may be there or not."""
    if label_column:
        try:
            return open_stream(data, id_column, [label_column], reading=reading)
        except SchemaError:
            pass
    return open_stream(data, id_column, (), reading=reading)


def _is_read_in_parts(data: str | Path, n_rows: int) -> bool:
    """Whether data are read part by part: where they lie, or because they have more rows than this."""
    return lies_in_files(data) or has_more_rows(Path(data), n_rows)
