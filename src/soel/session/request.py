"""A new session, made in a process of its own: pictures take minutes, and a page can show how far it is.

What is known of it lies in a hidden folder beside the session's, which is gone when the session is there. Killing the
process loses nothing: features are in their cache, the session appears whole or not at all, the next start goes on.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from soel.checks import check_labels
from soel.errors import ConfigError, DataError, NoPermissionError, SchemaError, SessionError, SoelError, naming
from soel.files import is_marked, mark, private_folder, remove_marked
from soel.images import decode, video
from soel.images.extractors import DEFAULT as USUAL_EXTRACTOR, REMOTE, onnx_file, open_extractor
from soel.images.picture_pool import MediaOptions
from soel.images.source import is_idx, is_media, open_source
from soel.records import body_of, read_body
from soel.session import SessionOptions
from soel.session.postgres import strip_password
from soel.session.worker import CREATE, JobStatus, begin, progress
from soel.tables.batches import SUFFIXES as STREAMED, open_stream
from soel.tables.look import look_at, look_at_start
from soel.tables.open import SUFFIXES, column_names, has_table_suffix, read_table
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.schema import Schema
from soel.tables.text_files import is_packed

CONFIG, SUFFIX = "config.json", ".soel"
ENDED = JobStatus("create", False, error="The preparation ended without a session. Start it again.")
QUICK = 64 * 2**20  # bytes whose rows are all looked at before anything is computed
PACKED_TIMES = 8  # what a packed file may grow by
SMALL = 4 * 2**20  # bytes that are read in no time; of a larger file only the head is looked at
MOST_FILES = 20_000  # of a folder that are looked at


def session_folder(data: Path) -> Path:
    """Where the session of a path lies: the path itself, or beside the data (DATA.soel)."""
    data = _whole(data)
    return data if (data / CONFIG).is_file() else data.with_name(data.name + SUFFIX)


def _whole(path: Path) -> Path:
    """The path from the root; a slash at its end is no part of a name, and a link stays where it is."""
    return Path(os.path.normpath(Path(path).absolute()))


@dataclass(frozen=True)
class Request:
    """A session that is asked for, as one line of text that a command can carry.

    labels_by: whose answers the labels of the label column are; None where they are only kept out of the features.
    """

    folder: Path
    data: Path
    options: SessionOptions = field(default_factory=SessionOptions)
    media: MediaOptions = field(default_factory=MediaOptions)
    columns: ReadOptions = DEFAULT
    labels_by: str | None = None

    def to_text(self) -> str:
        """As JSON; who is shown the progress is no part of it."""
        if not isinstance(self.options.profile, str):
            raise ConfigError("A profile of your own cannot be handed to another process; create the session here.")
        return json.dumps(body_of(self), default=str)  # paths

    @classmethod
    def from_text(cls, text: str) -> Request:
        """The request again."""
        return read_body(cls, json.loads(text))

    def check(self, store: str | None = None) -> None:
        """Raise what the creation would raise, as far as a quick look can tell."""
        _ = self.options.method  # refuses a profile or a strategy that there is not
        strip_password(store)
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise SessionError(f"{self.folder} is no session and not empty; move it away, the session needs its name.")
        if self.media.path_column is not None:
            self._check_columns()
        elif is_media(self.data):
            _check_extractor(self.media.extractor)
            if self.data.is_dir():
                _check_folder(self.data)
            elif self.data.stat().st_size <= SMALL:
                self.options.budget_for(len(open_source(self.data, self.media.reading).items))
        elif self.data.suffix.lower() in SUFFIXES and self.data.stat().st_size > SMALL:
            self._check_columns()
        else:
            self._check_rows()

    def look(self) -> Schema | None:
        """How the table would be read; None for what is no table, or too large for a quick look.

        Of a large file that can be read in parts, the first block is looked at, as the pool will be read by it; of a
        large packed one, the first lines.
        """
        data, named = self.data, (self.options.id_column, self.options.label_column)
        if not data.is_file() or not has_table_suffix(data) or self.media.path_column is not None or is_media(data):
            return None
        if is_packed(data) and data.stat().st_size > QUICK // PACKED_TIMES:
            return look_at_start(data, *named, self.columns)
        if data.stat().st_size <= QUICK:
            return look_at(data, *named, self.columns)
        if data.suffix.lower() in STREAMED:
            return open_stream(data, named[0], self._excluded, self.columns).schema
        return None

    @property
    def _excluded(self) -> list[str]:
        return [self.options.label_column] if self.options.label_column else []

    def _check_rows(self) -> None:
        table = read_table(self.data, self.options.id_column, self._excluded, self.columns)
        self.options.budget_for(len(table.ids))
        if self.labels_by is None:
            return
        if not self._excluded:
            raise ConfigError(
                f"There is no column of labels for {self.labels_by!r}; choose one, or leave the name out."
            )
        (column,) = self._excluded
        with naming(f"Column {column!r}"):  # said now, not after the session is there
            check_labels(table.excluded[column], len(table.ids))

    def _check_columns(self) -> None:
        names = column_names(self.data)
        asked = (self.options.id_column, self.options.label_column, self.media.path_column)
        missing = [name for name in asked if name and name not in names]
        if names and missing:
            shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise SchemaError(
                f"{self.data.name} has no column {', '.join(map(repr, missing))}. Choose among its columns: {shown}."
            )


def _check_folder(folder: Path) -> None:
    """Something in it must look like data; which kind it is, the creation finds out."""
    shown = {*decode.SUFFIXES, *video.SUFFIXES}
    for n_seen, path in enumerate(islice(folder.rglob("*"), MOST_FILES), start=1):
        if path.suffix.lower() in shown or path.suffix.lower() in SUFFIXES or is_idx(path) or n_seen == MOST_FILES:
            return
    raise DataError(f"{folder} holds neither pictures nor clips ({', '.join(sorted(shown))}). Give a folder that does.")


def _check_extractor(which: str) -> None:
    """A known name is not opened: that takes a while. Another one has to be a file."""
    path, _ = onnx_file(which)
    if path is not None and not path.is_file():
        raise DataError(f"There is no network {path}. Give the path of an ONNX file.")
    if path is None and which not in (USUAL_EXTRACTOR, *REMOTE):
        open_extractor(which)  # says which names there are


class Creation:
    """A session that is to be made."""

    def __init__(
        self,
        data: Path,
        options: SessionOptions | None = None,
        store: str | None = None,
        media: MediaOptions | None = None,
        columns: ReadOptions = DEFAULT,
        labels_by: str | None = None,
    ) -> None:
        self.data, self.folder = _whole(data), session_folder(data)
        self._request = Request(
            self.folder, self.data, options or SessionOptions(), media or MediaOptions(), columns, labels_by
        )
        self._store, self._process = store, 0
        if not self.is_done and not self.data.exists():
            raise DataError(f"{data} does not exist. Give a table, a folder of pictures or a clip.")

    def check(self) -> None:
        """Refuse at once what is known to fail; nothing is said of a session that is there."""
        if not self.is_done:
            self._request.check(self._store)

    @property
    def columns(self) -> ReadOptions:
        """What was said about the columns of a table."""
        return self._request.columns

    def look(self) -> Schema | None:
        """How the table would be read; None for what is no table, or too large for a quick look."""
        return None if self.is_done else self._request.look()

    def choose(
        self,
        columns: ReadOptions,
        id_column: str | None,
        label_column: str | None,
        labels_by: str | None = None,
    ) -> Schema | None:
        """Say how columns are read, which of them name or label the items, and whose labels these are.

        Refuses what cannot be.
        """
        before = self._request
        named = id_column or before.options.id_column, label_column or before.options.label_column
        options = replace(before.options, id_column=named[0], label_column=named[1])
        self._request = replace(before, options=options, columns=columns, labels_by=labels_by or before.labels_by)
        try:
            self.check()
            return self.look()
        except SoelError:
            self._request = before
            raise

    @property
    def place(self) -> Path:
        """The folder for what is known of the creation, there as long as it is needed."""
        return self.folder.with_name(f".{self.folder.name}-preparing")

    def make_place(self) -> Path:
        """The same folder, made and marked as ours, so that it can be removed again."""
        if self.place.is_dir() and not is_marked(self.place) and any(self.place.iterdir()):
            raise NoPermissionError(f"{self.place} holds other files; move it away: its place is needed for a while.")
        private_folder(self.place)
        mark(self.place)
        return self.place

    @property
    def is_done(self) -> bool:
        return (self.folder / CONFIG).is_file()

    def start(self) -> None:
        self.make_place()
        try:
            self._process = begin(self.place, CREATE, self._request.to_text(), self._store)
        except SessionError:
            self._process = 0

    def progress(self) -> JobStatus:
        """What is being done, or why it ended early. Ask `is_done` first."""
        return progress(self.place) or ENDED

    def stop(self) -> None:
        """End the process, if it is ours and still at work; what it has computed is kept for the next start."""
        if self.is_done:
            return
        if not self.progress().running:
            self.clear()  # it failed, and has said why
        elif self._process:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGTERM)
        self._process = 0

    def clear(self) -> None:
        remove_marked(self.place)
