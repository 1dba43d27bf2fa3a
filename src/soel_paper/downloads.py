"""Copies of public data sets: where they lie, what is fetched, and archives unpacked."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from soel.download import download
from soel.errors import DataError, StorageError
from soel.files import building, remove_leftovers
from soel.types import Progress
from soel_paper.catalogue import Dataset, reader_for
from soel_paper.catalogue_files import Content, LabelledRows

VARIABLE = "SOEL_DATA"
ARCHIVES = (".tar.gz", ".zip")
FEATURES = "-features.npz"  # how files of vectors that were made from pictures end
MAX_BYTES = 20 << 30  # more than any data set of the catalogue: a larger one is a bomb or a mistake
_UNIX_LINK = 0o120000


@dataclass(frozen=True)
class DataFolder:
    """Where copies lie. `given`: named by the user, so nothing is fetched into it without being asked."""

    path: Path
    given: bool

    def find(self, dataset: Dataset, pixels: bool = False) -> Path | None:
        """The data set's copy, or None. pixels: the pictures themselves, though vectors made from them be there."""
        places = [place for place in dataset.local if not (pixels and place.endswith(FEATURES))]
        return next((self.path / place for place in places if (self.path / place).exists()), None)


def data_folder(named: Path | None = None) -> DataFolder:
    """The folder named, else the one of SOEL_DATA, else a cache below the user's home."""
    if named is None and os.environ.get(VARIABLE):
        named = Path(os.environ[VARIABLE])
    if named is not None and not named.is_dir():
        raise DataError(f"The data folder {named} does not exist. Give a folder with --data-dir or {VARIABLE}.")
    return DataFolder(named or Path.home() / ".cache" / "soel", named is not None)


def fetch(dataset: Dataset, folder: DataFolder, progress: Progress | None = None) -> Path:
    """The data set's copy in the folder, downloaded and unpacked when it is not there."""
    found = folder.find(dataset)
    if found is not None:
        return found
    if not dataset.files:
        raise DataError(
            f"{dataset.name} is not in {folder.path} and has no address to fetch it from. "
            f"Put it there as {dataset.local[0]}."
        )
    for file in dataset.files:
        path = download(file, folder.path, progress)
        if path.name.endswith(ARCHIVES):
            _unpack_beside(path, folder.path)
    found = folder.find(dataset)
    if found is None:
        raise DataError(
            f"{dataset.name} was fetched into {folder.path}, and needs one more step: make feature vectors of its "
            f"items and save them as {dataset.local[0]}."
        )
    if dataset.content:
        _check_fetched(dataset, found)
    return found


def _check_fetched(dataset: Dataset, path: Path) -> None:
    """A table whose source publishes no checksum is known by its values; another one is not kept."""
    try:
        content = reader_for(dataset, path)(path)
        assert isinstance(content, LabelledRows)
        check_content(dataset, content)
    except DataError:
        path.unlink()
        raise


def load(dataset: Dataset, folder: DataFolder, pixels: bool = False) -> Content:
    """The data set's values from its copy in the folder."""
    path = folder.find(dataset, pixels)
    if path is None:
        how = (
            f"`python -m soel_paper datasets --fetch {dataset.name}` downloads it"
            if dataset.files
            else f"put {dataset.local[0]} there"
        )
        raise DataError(f"{dataset.name} is not in {folder.path}: {how}, or name another folder with --data-dir.")
    if dataset.kind == "video" and path.is_dir():
        raise DataError(f"{dataset.name} is there as clips, which have no rows of their own: take features of them.")
    content = reader_for(dataset, path)(path)
    if isinstance(content, LabelledRows) and not folder.given:
        check_content(dataset, content)
    return content


def check_content(dataset: Dataset, rows: LabelledRows) -> None:
    """A fetched table must hold the values that the results of this package were measured on."""
    found = content_digest(rows)
    if dataset.content and found != dataset.content:
        raise DataError(
            f"The values of {dataset.name} have the checksum {found}, not {dataset.content}: its source has changed. "
            "Results would not be comparable; put your own copy into a folder named by --data-dir to use it."
        )


def content_digest(rows: LabelledRows) -> str:
    """32 hex digits of the SHA-256 of the values, whatever file they came in."""
    values = np.ascontiguousarray(rows.x, "<f4").tobytes()
    return hashlib.sha256(values + rows.is_anomaly.astype("u1").tobytes()).hexdigest()[:32]


def _unpack_beside(archive: Path, folder: Path) -> None:
    """Move the single folder of an archive next to it."""
    inside = unpack(archive, folder / (archive.name.partition(".")[0] + "-unpacked"))
    for entry in inside.iterdir():
        if not (folder / entry.name).exists():
            entry.replace(folder / entry.name)


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
