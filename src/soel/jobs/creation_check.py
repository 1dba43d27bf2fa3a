"""What can be known at once of a session that is to be made: an order that must fail is refused before it begins."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from soel.data.tables import SUFFIXES, column_names, read_table
from soel.errors import DataError, SchemaError, SessionError
from soel.features import pictures, video
from soel.features.extractors import DEFAULT, REMOTE, onnx_file
from soel.features.image_arrays import is_idx
from soel.features.source import is_media, open_source
from soel.jobs.creation_order import Order
from soel.media.extractors import open_extractor
from soel.profiles import find_profile
from soel.session import SessionConfig
from soel.stores.event_stores import as_written

SMALL = 4 * 2**20  # bytes that are read in no time; of a larger file only the head is looked at
MANY = 10**15  # more items than there can be
MOST_FILES = 20_000  # of a folder, before it is taken at its word


def check_order(order: Order, store: str | None = None) -> None:
    """Raise what the creation would raise, as far as a quick look can tell."""
    find_profile(order.options.get("profile", "default"))
    as_written(store)
    _check_numbers(order, MANY)
    if order.folder.is_dir() and any(order.folder.iterdir()):
        raise SessionError(f"{order.folder} is no session and not empty; move it away, the session needs its name.")
    if order.media.path_column is not None:
        _check_columns(order)
    elif is_media(order.data):
        _check_media(order)
    elif order.data.suffix.lower() in SUFFIXES and order.data.stat().st_size > SMALL:
        _check_columns(order)
    else:
        _check_rows(order)


def _check_numbers(order: Order, n_items: int) -> None:
    """By the rules of the config that will be written."""
    chosen = {name: value for name, value in order.options.items() if name != "profile"}
    SessionConfig("", "", "", "", n_items, "", {}, **chosen)


def _check_rows(order: Order) -> None:
    label_column = order.options.get("label_column")
    table = read_table(order.data, order.options.get("id_column"), [label_column] if label_column else [])
    _check_numbers(order, len(table.ids))


def _check_columns(order: Order) -> None:
    asked = (order.options.get("id_column"), order.options.get("label_column"), order.media.path_column)
    names = column_names(order.data)
    missing = [name for name in asked if name and name not in names]
    if names and missing:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise SchemaError(
            f"{order.data.name} has no column {', '.join(map(repr, missing))}. Choose among its columns: {shown}."
        )


def _check_media(order: Order) -> None:
    _check_extractor(order.media.extractor)
    if order.data.is_dir():
        _check_folder(order.data)
    elif order.data.stat().st_size <= SMALL:
        _check_numbers(order, len(open_source(order.data, order.media.reading).items))


def _check_folder(folder: Path) -> None:
    """Something in it must look like data; which kind it is, the creation finds out."""
    shown = {*pictures.SUFFIXES, *video.SUFFIXES}
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
