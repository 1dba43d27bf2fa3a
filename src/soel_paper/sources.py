"""Where an experiment's rows come from: copies of public data sets, features of pictures, a user's own table."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.checks import check_labels
from soel.download import download
from soel.errors import DataError, LabelError, StorageError
from soel.files import building, remove_leftovers
from soel.images.decode import image_list
from soel.images.extract import extract
from soel.images.extractors import DEFAULT, RESNET152, Extractor, cache_folder, open_extractor
from soel.images.image_items import PictureSource, describe, known_labels
from soel.images.source import image_array, open_source
from soel.tables.encoder import Encoder
from soel.types import ANOMALY, UNLABELLED, Floats, Labels, Progress
from soel_paper.catalogue import (
    CATALOGUE,
    ClassSets,
    Content,
    Dataset,
    LabelledRows,
    find_dataset,
    read_frames,
    reader_for,
)

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


DERMA_MINIMUM = 500  # classes with fewer training images are never the normal one
PIXELS = "pixels"
LABELS = "labels.json"


@dataclass(frozen=True)
class DataSource:
    """A way to get at data sets by name. data_dir: where copies lie, None for the folder that SOEL_DATA names, else the
    cache. table, label_column: a user's own file.

    extractor: the frozen network for data sets that are pictures. per_class: how many of these to take of each class
    for training and for the test, None for all.
    """

    data_dir: Path | None = None
    table: Path | None = None
    label_column: str | None = None
    extractor: str = DEFAULT
    per_class: int | None = None

    def load(self, name: str, pixels: bool = False) -> Content:
        """The rows of a data set, or its pictures; kept in memory, since many cells share them."""
        return _load(self, name, pixels)

    def prepare(self, name: str, progress: Progress | None = None) -> None:
        """Make the feature vectors of a data set that is there as pictures, so that loading it is quick."""
        if self.has_pictures(name):
            _features(self, name, progress)

    def form(self, name: str, pixels: bool = False) -> str:
        """What a result depends on besides the data set's name: nothing for a table."""
        if not pixels and not self.has_pictures(name):
            return ""
        own = PIXELS if pixels else str(network(self.extractor).fingerprint)
        return own if self._part(name) is None else f"{own}, {self.per_class} a class"

    def has_pictures(self, name: str) -> bool:
        """Whether the copy at hand holds pictures rather than vectors."""
        if self.table is not None or find_dataset(name).kind not in ("images", "video"):
            return False
        found = self._copy(name)
        return found is not None and not found.name.endswith("-features.npz")

    def suits(self, name: str, augmented: bool, pixels: bool) -> bool:
        """Whether the data set has the pictures that a method augments, or learns on."""
        if not augmented and not pixels:
            return True
        if self.table is not None or find_dataset(name).kind != "images":
            return False
        return self.has_pictures(name) or (pixels and self._copy(name, pixels=True) is not None)

    def n_rows(self, name: str) -> int:
        if self.has_pictures(name) and find_dataset(name).kind == "video":
            return 0
        content = _raw(self, name)
        return len(content.x_train if isinstance(content, ClassSets) else content.x)

    def protocol(self, name: str) -> str:
        return "natural" if self.table is not None else find_dataset(name).protocol

    def title(self, name: str) -> str:
        title = CATALOGUE[name].title if name in CATALOGUE else name.partition("@")[0]
        return title if self._part(name) is None else f"{title} ({self.per_class} a class)"

    def present(self, name: str) -> bool:
        """Whether it can be loaded without a download."""
        return self.table is not None or self._copy(name) is not None

    def classes(self, name: str, wanted: tuple[int, ...] = ()) -> tuple[int | None, ...]:
        """The classes that are normal in turn; (None,) for a data set that is not of classes."""
        if self.protocol(name) != "one-vs-rest":
            return (None,)
        content = _raw(self, name)
        assert isinstance(content, ClassSets)
        counts = {code: int((content.y_train == code).sum()) for code in content.classes}
        usual = [code for code, count in counts.items() if count > DERMA_MINIMUM or name != "dermamnist"]
        return tuple(code for code in usual if not wanted or code in wanted)

    def _copy(self, name: str, pixels: bool = False) -> Path | None:
        return data_folder(self.data_dir).find(find_dataset(name), pixels)

    def _part(self, name: str) -> int | None:
        """How many a class, where that was asked for and the data set has classes."""
        return self.per_class if self.table is None and find_dataset(name).protocol == "one-vs-rest" else None


@lru_cache(maxsize=8)
def _raw(source: DataSource, name: str, pixels: bool = False) -> Content:
    """The file's own values."""
    if source.table is not None:
        return _own_rows(source.table, source.label_column or "y")
    return load(find_dataset(name), data_folder(source.data_dir), pixels)


@lru_cache(maxsize=8)
def _load(source: DataSource, name: str, pixels: bool) -> Content:
    if not pixels and source.has_pictures(name):
        return _features(source, name)
    return _part_of(source, _raw(source, name, pixels))


def _part_of(source: DataSource, content: Content) -> Content:
    if source.per_class is None or not isinstance(content, ClassSets):
        return content
    return thin(content, source.per_class)


def _features(source: DataSource, name: str, progress: Progress | None = None) -> Content:
    if find_dataset(name).kind == "video":
        folder = source._copy(name)
        assert folder is not None
        return clip_rows(folder, source.extractor, progress)
    sets = _part_of(source, _raw(source, name))
    assert isinstance(sets, ClassSets)
    return with_features(sets, source.extractor, progress)


def own_name(path: Path) -> str:
    """A user's file as the name of a data set; its content is part of it, so a changed file is another one."""
    from soel.tables.open import read_table  # a machine that only computes cells needs no readers of tables

    return f"{path.stem}@{read_table(path).fingerprint[:12]}"


def _own_rows(path: Path, label_column: str) -> LabelledRows:
    from soel.tables.open import read_table

    table = read_table(path, exclude=(label_column,))
    labels = check_labels(table.excluded[label_column], table.frame.n_rows)
    if (labels == UNLABELLED).any():
        raise LabelError(
            f"A comparison needs the truth of every row, and column {label_column!r} is empty in "
            f"{int((labels == UNLABELLED).sum())} rows. Give a table that is labelled throughout."
        )
    matrix = Encoder.fit(table.frame, "none").encode(table.frame)
    return LabelledRows(np.asarray(matrix, np.float32), labels == ANOMALY)


def with_features(sets: ClassSets, extractor: str, progress: Progress | None = None) -> ClassSets:
    """The same items as feature vectors; the pictures of the training part stay with them, to be augmented."""
    x_train, x_test = (features_of(x, extractor, progress) for x in (sets.x_train, sets.x_test))
    return replace(sets, x_train=x_train, x_test=x_test, pictures=sets.x_train, extractor=extractor)


def features_of(pictures: NDArray[np.uint8], extractor: str, progress: Progress | None = None) -> Floats:
    """Features (n, d) of pictures (n, h, w[, 3]); those seen before come from the cache."""
    return extract(image_array("pictures", pictures), network(extractor), cache_folder(), progress).matrix


def clip_rows(folder: Path, extractor: str, progress: Progress | None = None) -> LabelledRows:
    """Features of every frame of a folder of clips, with labels.json: a string of 0 and 1 for each clip.

    Without labels.json it is UCSD's own folder of frames.
    """
    source, codes = _clips(folder) if (folder / LABELS).exists() else _frames(folder)
    found = extract(source, network(extractor), cache_folder(), progress)
    faults = (*source.skipped, *found.faulty)
    truth = codes[found.rows]
    if faults or (truth == UNLABELLED).any():
        raise DataError(
            f"{folder} is no whole copy: {len(faults)} files cannot be read ({describe(faults)}), "
            f"{int((truth == UNLABELLED).sum())} frames have no label. Get it again."
        )
    return LabelledRows(found.matrix, truth == ANOMALY)


def _clips(folder: Path) -> tuple[PictureSource, Labels]:
    source = open_source(folder)
    return source, np.array(known_labels(source.items, file=folder / LABELS), np.int8)


def _frames(folder: Path) -> tuple[PictureSource, Labels]:
    paths, abnormal = read_frames(folder)
    source = image_list(folder.name, paths)
    truth = dict(zip(map(str, paths), abnormal.tolist(), strict=True))
    return source, np.array([truth[item.name] for item in source.items], np.int8)


def best_extractor(data_dir: Path | None = None) -> str:
    """Of the networks that are on this machine the one nearest to the paper's: ResNet-152, ResNet-50, the default.

    Their files lie in the cache, or in `models` of the data folder.
    """
    if (cache_folder() / "models" / RESNET152.name).exists():
        return "resnet152"
    models = data_folder(data_dir).path / "models"
    return next((str(path) for name in ("resnet152", "resnet50") for path in models.glob(f"{name}*.onnx")), DEFAULT)


@lru_cache(maxsize=2)
def network(extractor: str) -> Extractor:
    """An extractor by name or file."""
    return open_extractor(extractor)


def thin(sets: ClassSets, per_class: int) -> ClassSets:
    """At most so many training and so many test items of every class: always the same ones."""
    parts: dict[str, Any] = {}
    for part in ("train", "test"):
        x, codes, rng = getattr(sets, f"x_{part}"), getattr(sets, f"y_{part}"), np.random.default_rng(0)
        kept = [rng.permutation(np.flatnonzero(codes == code))[:per_class] for code in np.unique(codes)]
        rows = np.sort(np.concatenate(kept))
        parts |= {f"x_{part}": x[rows], f"y_{part}": codes[rows]}
    return replace(sets, **parts)
