"""A new session, made in a process of its own: pictures take minutes, and a page can show how far it is.

What is known of it lies in a hidden folder beside the session's, which is gone when the session is there. Killing the
process loses nothing: features are in their cache, the session appears whole or not at all, the next start goes on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from soel.durable import mark, private_folder, remove_marked
from soel.errors import DataError, SessionError
from soel.jobs.background import JobStatus, begin, progress
from soel.jobs.creation_order import Order
from soel.media.picture_pool import MediaOptions
from soel.session import SessionFolder

CONFIG, SUFFIX = "config.json", ".soel"
ENDED = JobStatus("create", False, error="The preparation ended without a session. Start it again.")


def session_folder(data: Path) -> Path:
    """Where the session of a path lies: the path itself, or beside the data (DATA.soel)."""
    data = _whole(data)
    return data if (data / CONFIG).is_file() else data.with_name(data.name + SUFFIX)


def _whole(path: Path) -> Path:
    """The path from the root; a slash at its end is no part of a name, and a link stays where it is."""
    return Path(os.path.normpath(Path(path).absolute()))


class Creation:
    """A session that is to be made. options: as for `workspace.create`, all of them plain values."""

    def __init__(
        self, data: Path, options: Mapping[str, Any], store: str | None = None, media: MediaOptions | None = None
    ) -> None:
        self.data, self.folder = _whole(data), session_folder(data)
        self._order = Order(self.folder, self.data, options, media or MediaOptions())
        self._store, self._process = store, 0
        if not self.is_done and not self.data.exists():
            raise DataError(f"{data} does not exist. Give a table, a folder of pictures or a clip.")

    def check(self) -> None:
        """Refuse at once what is known to fail; nothing is said of a session that is there."""
        if not self.is_done:
            from soel.jobs.creation_check import check_order

            check_order(self._order, self._store)

    @property
    def place(self) -> Path:
        """The folder for what is known of the creation, there as long as it is needed."""
        return self.folder.with_name(f".{self.folder.name}-preparing")

    @property
    def is_done(self) -> bool:
        """Whether the session is there."""
        return (self.folder / CONFIG).is_file()

    def start(self) -> None:
        """Begin, or join what another process has begun already."""
        private_folder(self.place)
        mark(self.place)
        words = ["soel.jobs.creation_task", str(self.place), self._order.to_text()]
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
