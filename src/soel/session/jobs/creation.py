"""A new session, made in a process of its own: pictures take minutes, and a page can show how far it is.

What is known of it lies in a hidden folder beside the session's, which is gone when the session is there. Killing the
process loses nothing: features are in their cache, the session appears whole or not at all, the next start goes on.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from soel.durable import is_marked, mark, private_folder, remove_marked
from soel.errors import DataError, NoPermissionError, SessionError, SoelError
from soel.images.picture_pool import MediaOptions
from soel.images.source import Reading
from soel.session import SessionFolder, SessionOptions
from soel.session.jobs.background import JobStatus, begin, progress
from soel.tables.options import DEFAULT, ReadOptions
from soel.tables.schema import Schema

CONFIG, SUFFIX = "config.json", ".soel"
ENDED = JobStatus("create", False, error="The preparation ended without a session. Start it again.")


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
        media = asdict(replace(self.media, progress=None, scanned=None))
        content = {"folder": self.folder, "data": self.data, "options": self.options.as_json(), "media": media}
        content |= {"columns": self.columns.to_dict(), "labels_by": self.labels_by}
        return json.dumps(content, default=str)  # paths

    @classmethod
    def from_text(cls, text: str) -> Request:
        """The request again."""
        content = json.loads(text)
        media = content["media"]
        labels = None if media["labels"] is None else Path(media["labels"])
        chosen = MediaOptions(**media | {"reading": Reading(**media["reading"]), "labels": labels})
        columns = ReadOptions.from_dict(content["columns"])
        options, who = SessionOptions(**content["options"]), content["labels_by"]
        return cls(Path(content["folder"]), Path(content["data"]), options, chosen, columns, who)


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
            from soel.session.jobs.creation_check import check_request

            check_request(self._request, self._store)

    @property
    def columns(self) -> ReadOptions:
        """What was said about the columns of a table."""
        return self._request.columns

    def look(self) -> Schema | None:
        """How the table would be read; None for what is no table, or too large for a quick look."""
        from soel.session.jobs.creation_check import look_at_request

        return None if self.is_done else look_at_request(self._request)

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
        """Whether the session is there."""
        return (self.folder / CONFIG).is_file()

    def start(self) -> None:
        """Begin, or join what another process has begun already."""
        self.make_place()
        words = ["soel.session.jobs.creation_task", str(self.place), self._request.to_text()]
        try:
            self._process = begin(SessionFolder(self.place), "create", words, self._store)
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
        """Remove what was known of it."""
        remove_marked(self.place)
