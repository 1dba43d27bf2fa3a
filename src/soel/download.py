"""Files from an address: resumed where they broke off, checked against a published checksum, whole or not at all."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soel.errors import DataError
from soel.files import move, sync
from soel.types import Progress

BLOCK = 1 << 18
TIMEOUT = 60.0
DIGITS = {32: "md5", 64: "sha256"}  # what a checksum is, by its length


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set: its name in the data folder, where it comes from, its MD5 or SHA-256 in hex.

    checksum: empty where the source publishes none; then whoever reads the file has to check its values.
    """

    name: str
    address: str
    checksum: str


def download(file: RemoteFile, folder: Path, progress: Progress | None = None) -> Path:
    """The file in the folder; fetched when it is not there. A part left by a broken try is gone on with."""
    target = folder / file.name
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        _fetch(file.address, part, progress)
    except (urllib.error.URLError, OSError) as error:
        raise DataError(
            f"{file.address} could not be fetched: {error}. Run it again to go on where it stopped, "
            f"or put {file.name} into {folder} yourself."
        ) from error
    _check(part, file)
    move(part, target)
    return target


def _fetch(address: str, part: Path, progress: Progress | None) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            _copy(reply, part, have, progress)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:  # 416: nothing beyond what we have, so the part is the whole
            raise


def _copy(reply: Any, part: Path, have: int, progress: Progress | None) -> None:
    resumed = reply.status == 206
    done = have if resumed else 0  # a server that cannot resume starts over
    total = done + int(reply.headers.get("Content-Length") or 0)
    with part.open("ab" if resumed else "wb") as out:
        while block := reply.read(BLOCK):
            out.write(block)
            done += len(block)
            if progress is not None:
                progress(done, max(total, done))
        sync(out)
    if done < total:
        raise OSError(f"the connection broke after {done} of {total} bytes")


def _check(part: Path, file: RemoteFile) -> None:
    """Compare with the published checksum; a wrong file is removed, since resuming it would be of no use."""
    if not file.checksum:
        return
    with part.open("rb") as content:
        found = hashlib.file_digest(content, DIGITS[len(file.checksum)]).hexdigest()
    if found != file.checksum:
        part.unlink()
        raise DataError(
            f"{file.name} from {file.address} has the checksum {found}, not {file.checksum}: it is damaged or was "
            "changed at its source. It was removed; fetch it again or get it from somewhere you trust."
        )
