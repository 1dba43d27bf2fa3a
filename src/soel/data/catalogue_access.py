"""From a data set's name to its values: a local copy first, then a download."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soel.data.catalogue import Dataset, reader_for
from soel.data.catalogue_files import ClassSets, Content, LabelledRows
from soel.data.download import Progress, download
from soel.data.download_archive import unpack
from soel.errors import DataError

VARIABLE = "SOEL_DATA"
ARCHIVES = (".tar.gz", ".zip")


@dataclass(frozen=True)
class DataFolder:
    """Where copies lie. `given`: named by the user, so nothing is fetched into it without being asked."""

    path: Path
    given: bool

    def find(self, dataset: Dataset) -> Path | None:
        """The data set's copy, or None."""
        return next((self.path / place for place in dataset.local if (self.path / place).exists()), None)


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
    return found


def load(dataset: Dataset, folder: DataFolder) -> Content:
    """The data set's values from its copy in the folder."""
    path = folder.find(dataset)
    if path is None:
        how = (
            f"`soel datasets --fetch {dataset.name}` downloads it" if dataset.files else f"put {dataset.local[0]} there"
        )
        raise DataError(f"{dataset.name} is not in {folder.path}: {how}, or name another folder with --data-dir.")
    if dataset.kind == "video" and path.is_dir():
        raise _only_pixels(dataset, "X, one vector per frame, and y, 1 for an abnormal frame,")
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
            "Results would not be comparable; name a folder with your own copy by --data-dir to use it anyway."
        )


def content_digest(rows: LabelledRows) -> str:
    """32 hex digits of the SHA-256 of the values, whatever file they came in."""
    values = np.ascontiguousarray(rows.x, "<f4").tobytes()
    return hashlib.sha256(values + rows.is_anomaly.astype("u1").tobytes()).hexdigest()[:32]


def need_features(dataset: Dataset, content: Content) -> None:
    """Refuse pixels where feature vectors are needed."""
    if isinstance(content, ClassSets) and not content.has_features:
        raise _only_pixels(dataset, "x_train, y_train, x_test, y_test with one vector per item")


def _only_pixels(dataset: Dataset, arrays: str) -> DataError:
    return DataError(
        f"{dataset.name} is there as pixels, and this needs feature vectors. Save {arrays} "
        f"as {dataset.local[0]} in the data folder."
    )


def _unpack_beside(archive: Path, folder: Path) -> None:
    """Move the single folder of an archive next to it."""
    inside = unpack(archive, folder / (archive.name.partition(".")[0] + "-unpacked"))
    for entry in inside.iterdir():
        if not (folder / entry.name).exists():
            entry.replace(folder / entry.name)
