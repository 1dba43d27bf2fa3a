"""Is a file what it was? Digests of what a session rests on, kept in its config and compared before a file is believed.

A whole digest reads every byte, a second or so for each GB. So it is taken once: `.checked.json` remembers size, times
and inode of the files that were compared, and while those stay as they are nothing is read again. A copied or restored
folder is compared anew. This finds accidents, not somebody who may write to the folder and changes the config as well.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from soel.durable import explain, write_whole
from soel.errors import DamagedError, StorageError

CHECKED = ".checked.json"
YOUNG = 2 * 10**9  # nanoseconds: a file that changed so recently could change again without a trace in its times


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise DamagedError(f"{path} is missing; restore it from a copy.") from error
    except OSError as error:
        raise explain(error, path, "read") from error


def digests_of(folder: Path, leave_out: str) -> dict[str, str]:
    """The digests of the files directly in a folder, but for those whose names start so."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(leave_out))
    return {path.name: digest_of(path) for path in files}


def compare(path: Path, digest: str) -> None:
    """Refuse a file that is not what it was; one that was compared before and was not touched since is not read."""
    noted, now = path.with_name(CHECKED), _marks(path)
    known = _read(noted)
    if now is not None and known.get(path.name) == now:
        return
    if digest_of(path) != digest:
        raise DamagedError(
            f"{path} is not what it was when the session was made: it is damaged, or was changed by hand. "
            f"`soel check {path.parent}` says what that means; else restore it from a copy."
        )
    if now is not None and now == _marks(path):
        with suppress(StorageError):  # on a disk that is full or read-only, it is read again next time
            content = json.dumps({**known, path.name: now}).encode()
            write_whole(noted, content, private=True, lasting=False)


def _marks(path: Path) -> list[int] | None:
    """What changes with a file's content: size, times, inode. None where the last change is too recent to tell."""
    try:
        found = path.stat()
    except OSError:
        return None
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < YOUNG:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _read(noted: Path) -> Mapping[str, object]:
    try:
        known = json.loads(noted.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
