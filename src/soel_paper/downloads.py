"""Copies of public data sets: where they lie, what is fetched, and archives unpacked."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterator
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
ARCHIVE = ".tar.gz"
FEATURES = "-features.npz"  # how files of vectors that were made from pictures end
MAX_BYTES = 20 << 30  # more than any data set of the catalogue: a larger one is a bomb or a mistake


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
        if path.name.endswith(ARCHIVE):
            inside = unpack(path, folder.path / (path.name.removesuffix(ARCHIVE) + "-unpacked"))
            for entry in inside.iterdir():  # the single folder of an archive moves next to it
                if not (folder.path / entry.name).exists():
                    entry.replace(folder.path / entry.name)
    found = folder.find(dataset)
    if found is None:
        raise DataError(
            f"{dataset.name} was fetched into {folder.path}, and needs one more step: make feature vectors of its "
            f"items and save them as {dataset.local[0]}."
        )
    if dataset.content:  # a table whose source publishes no checksum is known by its values; another one is not kept
        try:
            check_content(dataset, reader_for(dataset, found)(found))
        except DataError:
            found.unlink()
            raise
    return found


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
    if not folder.given:
        check_content(dataset, content)
    return content


def check_content(dataset: Dataset, content: Content) -> None:
    """A fetched table must hold the values that the results of this package were measured on."""
    found = content_digest(content) if isinstance(content, LabelledRows) else ""
    if dataset.content and found != dataset.content:
        raise DataError(
            f"The values of {dataset.name} have the checksum {found}, not {dataset.content}: its source has changed. "
            "Results would not be comparable; put your own copy into a folder named by --data-dir to use it."
        )


def content_digest(rows: LabelledRows) -> str:
    """32 hex digits of the SHA-256 of the values, whatever file they came in."""
    values = np.ascontiguousarray(rows.x, "<f4").tobytes()
    return hashlib.sha256(values + rows.is_anomaly.astype("u1").tobytes()).hexdigest()[:32]


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a .tar.gz into a new folder, whole or not at all.

    An archive that holds links, devices, absolute names or `..` is refused before anything is written.
    """
    if folder.exists():
        return folder
    remove_leftovers(folder)
    try:
        with building(folder) as part, tarfile.open(archive) as content:
            members = content.getmembers()
            for fault in _faults(members):
                raise DataError(f"{archive.name} holds {fault}. It was not unpacked; get it from its own source.")
            content.extractall(part, members, filter="data")
    except StorageError:
        raise
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{archive.name} cannot be unpacked: {error}. Fetch it again.") from error
    return folder


def _faults(members: list[tarfile.TarInfo]) -> Iterator[str]:
    for member in members:
        path = PurePosixPath(member.name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in member.name or "\0" in member.name:
            yield f"{member.name!r}, which points outside of the folder"
        if not (member.isfile() or member.isdir()):
            yield f"{member.name!r}, which is a link or a device"
    n_bytes = sum(member.size for member in members)
    if n_bytes > MAX_BYTES:
        yield f"{n_bytes} bytes, more than {MAX_BYTES}"
