"""What can be known at once of a session that is to be made: a request that must fail is refused before it begins."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from soel.checks import check_labels
from soel.errors import ConfigError, DataError, SchemaError, SessionError, naming
from soel.images import decode, video
from soel.images.arrays import is_idx
from soel.images.extractors import DEFAULT, REMOTE, onnx_file, open_extractor
from soel.images.source import is_media, open_source
from soel.session.jobs.creation import Request
from soel.session.stores.event_stores import strip_password
from soel.settings import find_profile
from soel.tables.look import look_at, look_at_start
from soel.tables.schema import Schema
from soel.tables.streams import SUFFIXES as STREAMED
from soel.tables.streams import open_stream
from soel.tables.tables import SUFFIXES, Table, column_names, has_table_suffix, read_table
from soel.tables.text_files import is_packed

QUICK = 64 * 2**20  # bytes whose rows are all looked at before anything is computed
PACKED_TIMES = 8  # what a packed file may grow by
SMALL = 4 * 2**20  # bytes that are read in no time; of a larger file only the head is looked at
MOST_FILES = 20_000  # of a folder, before it is taken at its word


def check_request(request: Request, store: str | None = None) -> None:
    """Raise what the creation would raise, as far as a quick look can tell."""
    find_profile(request.options.profile)
    strip_password(store)
    if request.folder.is_dir() and any(request.folder.iterdir()):
        raise SessionError(f"{request.folder} is no session and not empty; move it away, the session needs its name.")
    if request.media.path_column is not None:
        _check_columns(request)
    elif is_media(request.data):
        _check_media(request)
    elif request.data.suffix.lower() in SUFFIXES and request.data.stat().st_size > SMALL:
        _check_columns(request)
    else:
        _check_rows(request)


def _check_rows(request: Request) -> None:
    label_column = request.options.label_column
    exclude = [label_column] if label_column else []
    table = read_table(request.data, request.options.id_column, exclude, request.columns)
    request.options.budget_for(len(table.ids))
    if request.labels_by is not None:
        _check_known_labels(request, table)


def _check_known_labels(request: Request, table: Table) -> None:
    """What is to be taken in as answers must be labels: said now, not after the session is there."""
    column = request.options.label_column
    if column is None:
        raise ConfigError(f"There is no column of labels for {request.labels_by!r}; choose one, or leave the name out.")
    with naming(f"Column {column!r}"):
        check_labels(table.excluded[column], len(table.ids))


def look_at_request(request: Request) -> Schema | None:
    """How the table of a request would be read; None for what is no table, or too large for a quick look.

    Of a large file that can be read in parts, the first block is looked at, as the pool will be read by it; of a large
    packed one, the first lines.
    """
    data, options = request.data, request.options
    is_table = data.is_file() and has_table_suffix(data) and request.media.path_column is None and not is_media(data)
    if not is_table:
        return None
    if is_packed(data) and data.stat().st_size > QUICK // PACKED_TIMES:
        return look_at_start(data, options.id_column, options.label_column, request.columns)
    if data.stat().st_size > QUICK:
        return _look_at_head(request) if data.suffix.lower() in STREAMED else None
    return look_at(data, options.id_column, options.label_column, request.columns)


def _look_at_head(request: Request) -> Schema:
    label_column = request.options.label_column
    exclude = [label_column] if label_column else []
    return open_stream(request.data, request.options.id_column, exclude, request.columns).schema


def _check_columns(request: Request) -> None:
    asked = (request.options.id_column, request.options.label_column, request.media.path_column)
    names = column_names(request.data)
    missing = [name for name in asked if name and name not in names]
    if names and missing:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise SchemaError(
            f"{request.data.name} has no column {', '.join(map(repr, missing))}. Choose among its columns: {shown}."
        )


def _check_media(request: Request) -> None:
    _check_extractor(request.media.extractor)
    if request.data.is_dir():
        _check_folder(request.data)
    elif request.data.stat().st_size <= SMALL:
        request.options.budget_for(len(open_source(request.data, request.media.reading).items))


def _check_folder(folder: Path) -> None:
    """Something in it must look like data; which kind it is, the creation finds out."""
    shown = {*decode.SUFFIXES, *video.SUFFIXES}
    known = {*shown, *SUFFIXES}
    for n_seen, path in enumerate(islice(folder.rglob("*"), MOST_FILES), start=1):
        if path.suffix.lower() in known or is_idx(path) or n_seen == MOST_FILES:
            return
    raise DataError(f"{folder} holds neither pictures nor clips ({', '.join(sorted(shown))}). Give a folder that does.")


def _check_extractor(which: str) -> None:
    """A known name is not opened: that takes a while. Another one has to be a file."""
    path, _ = onnx_file(which)
    if path is not None:
        if not path.is_file():
            raise DataError(f"There is no network {path}. Give the path of an ONNX file.")
    elif which not in (DEFAULT, *REMOTE):
        open_extractor(which)  # says which names there are
