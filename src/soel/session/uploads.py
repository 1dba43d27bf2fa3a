"""Data that a browser sends for a session: piece by piece into a folder of their own, until they are added.

A folder that carries our mark was not taken in yet, and gives way to the next upload. Tables are copied when they are
added; pictures stay here, because they are looked at later.
"""

from __future__ import annotations

import re
from pathlib import Path

from soel.errors import ConfigError, DataError, SessionError
from soel.files import MARK, explaining, hold_lock, is_locked, mark, private_folder, remove_marked
from soel.session import Session, worker
from soel.session.growth import add_data
from soel.types import Progress

FOLDER, FILES, LOCK = "uploads", "files", ".uploads.lock"
PATIENCE = 20.0  # seconds to wait while another piece is written
MOST_BYTES = 4 << 30
LONGEST_FILE_NAME = 200
ARRAYS = (".npz", ".npy")
TOKEN = re.compile(r"[0-9a-f]{16}")
_ODD = r'\x00-\x1f\x7f-\x9f<>:"/\\|?*\u2028\u2029\u202a-\u202e\u2066-\u2069'
NAME_PATTERN = rf"^[^. {_ODD}][^{_ODD}]*$"  # leads nowhere else, and hides nothing


class Uploads:
    """The uploads of one session. An upload is known by 16 hexadecimal digits that the browser made up."""

    def __init__(self, session: Path) -> None:
        self._session = Path(session)
        self._root = self._session / FOLDER

    def write(self, upload: str, name: str, at: int, piece: bytes) -> int:
        """Put a piece of a file where the last one ended; returns where this one does. The first makes room for it.

        One piece at a time, also of two servers: of two that come for the same byte, the second is refused.
        """
        place = self.folder(upload) / _check_name(name)
        with explaining(place), hold_lock(self._session / LOCK, PATIENCE):
            if not place.parent.exists():
                self._begin(upload)
            size = place.stat().st_size if place.exists() else 0
            if at != size:
                raise SessionError(f"{name} is here up to byte {size}, and a piece came for byte {at}. Send it again.")
            if size + len(piece) > MOST_BYTES:
                raise DataError(f"{name} is larger than {MOST_BYTES >> 30} GiB; add it with `soel add` instead.")
            with place.open("ab") as file:
                file.write(piece)
        return size + len(piece)

    def folder(self, upload: str) -> Path:
        return self._place(upload) / FILES

    def data(self, upload: str) -> Path:
        """What was sent: one file as a file, several as a folder."""
        folder = self.folder(upload)
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        if not files:
            raise SessionError("Nothing was sent; choose a file first.")
        return files[0] if len(files) == 1 else folder

    def keep(self, upload: str) -> None:
        """These stay: the session looks at them."""
        (self._place(upload) / MARK).unlink(missing_ok=True)

    def give_up(self, upload: str) -> None:
        """These were not taken in, and give way to the next upload."""
        mark(self._place(upload))

    def remove(self, upload: str) -> None:
        remove_marked(self._place(upload))

    def _begin(self, upload: str) -> None:
        """Make room for a new upload; what was sent before and never added goes, unless it is being added now."""
        private_folder(self._root)
        if not is_locked(self._session / worker.LOCK):
            for other in self._root.iterdir():
                remove_marked(other)
        private_folder(self._place(upload))
        mark(self._place(upload))
        private_folder(self.folder(upload))

    def _place(self, upload: str) -> Path:
        if not TOKEN.fullmatch(upload):
            raise ConfigError("An upload is known by 16 hexadecimal digits.")
        return self._root / upload


def _check_name(name: str) -> str:
    """A plain name of a file, which can lead nowhere else; of one that is too long for a disk, the stem is cut."""
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise DataError(f"{name[:80]!r} cannot be the name of a file here; rename it.")
    stem, suffix = Path(name).stem, Path(name).suffix
    while stem and len(f"{stem}{suffix}".encode()) > LONGEST_FILE_NAME:
        stem = stem[:-1]
    return f"{stem}{suffix}"[:LONGEST_FILE_NAME]


def add_upload(session: Session, upload: str, replace: bool, who: str, progress: Progress | None = None) -> None:
    """Take what a browser has sent into the session."""
    uploads, of_pictures = Uploads(session.folder.path), session.folder.has_pictures
    data = uploads.data(upload)
    if of_pictures and data.suffix.lower() not in ARRAYS:
        data = uploads.folder(upload)  # a single picture is a folder of one
    n_pools = len(session.state.pools)
    if of_pictures:
        uploads.keep(upload)  # before the event that names them: whoever dies in between leaves files, not gaps
    try:
        add_data(session, data, replace, who, progress)
    except BaseException:
        if of_pictures and len(session.state.pools) == n_pools:
            uploads.give_up(upload)
        raise
    if not of_pictures:
        uploads.remove(upload)
