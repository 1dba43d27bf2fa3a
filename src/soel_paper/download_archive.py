"""Archives unpacked with care: plain files below the folder, nothing else."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from soel.errors import DataError, StorageError
from soel.files import building, remove_leftovers

MAX_BYTES = 20 << 30  # more than any data set of the catalogue: a larger one is a bomb or a mistake
_UNIX_LINK = 0o120000


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a .tar, .tar.gz or .zip into a new folder, whole or not at all.

    An archive that holds links, devices, absolute names or `..` is refused before anything is written.
    """
    if folder.exists():
        return folder
    remove_leftovers(folder)
    try:
        with building(folder) as part:
            (_unzip if zipfile.is_zipfile(archive) else _untar)(archive, part)
    except StorageError:
        raise
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise DataError(f"{archive.name} cannot be unpacked: {error}. Fetch it again.") from error
    return folder


def _untar(archive: Path, part: Path) -> None:
    with tarfile.open(archive) as content:
        members = content.getmembers()
        for member in members:
            _check_name(archive, member.name)
            if not (member.isfile() or member.isdir()):
                raise _refusal(archive, f"{member.name!r}, which is a link or a device")
        _check_size(archive, sum(member.size for member in members))
        content.extractall(part, filter="data")


def _unzip(archive: Path, part: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        for entry in content.infolist():
            _check_name(archive, entry.filename)
            if (entry.external_attr >> 16) & 0o170000 == _UNIX_LINK:
                raise _refusal(archive, f"{entry.filename!r}, which is a link")
        _check_size(archive, sum(entry.file_size for entry in content.infolist()))
        content.extractall(part)


def _check_name(archive: Path, name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name or "\0" in name:
        raise _refusal(archive, f"{name!r}, which points outside of the folder")


def _check_size(archive: Path, n_bytes: int) -> None:
    if n_bytes > MAX_BYTES:
        raise _refusal(archive, f"{n_bytes} bytes, more than {MAX_BYTES}")


def _refusal(archive: Path, what: str) -> DataError:
    return DataError(f"{archive.name} holds {what}. It was not unpacked; get the archive from its own source.")
