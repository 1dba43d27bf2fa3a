"""Number and digest of the newest event, in a small file beside its database.

SQLite ignores its log from the first damaged page on, without an error. An event that this file names and the database
lacks shows that it did. The file is overwritten in place after each commit and not synced, so it is never ahead.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import suppress
from pathlib import Path

SUFFIX = "-last"
_LINE = re.compile(rb"(\d{12}) ([0-9a-f]{16}) (\d{10})\n")


def write_last(database: Path, number: int, digest: str) -> None:
    """Replace what is noted; where nothing can be written, an older number stays true."""
    said = f"{number:012d} {digest}".encode()
    with suppress(OSError):
        file = os.open(_beside(database), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.write(file, b"%s %010d\n" % (said, zlib.crc32(said)))
        finally:
            os.close(file)


def read_last(database: Path) -> tuple[int, str] | None:
    """The number and digest that were noted; None where nothing is, or the note is damaged itself."""
    try:
        found = _LINE.fullmatch(_beside(database).read_bytes())
    except OSError:
        return None
    if found is None or zlib.crc32(b"%s %s" % (found[1], found[2])) != int(found[3]):
        return None
    return int(found[1]), found[2].decode()


def _beside(database: Path) -> Path:
    return database.with_name(database.name + SUFFIX)
