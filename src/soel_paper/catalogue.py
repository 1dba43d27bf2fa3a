"""The catalogue of public data sets: what each is, where it comes from, how its files are read and split."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from soel.download import RemoteFile
from soel.errors import ConfigError, DataError
from soel.images.source import read_idx_array
from soel.types import Floats

CIFAR_ROW = 1 + 3 * 32 * 32
CLIP = re.compile(r"(Train|Test)\d+")  # not the folders with the abnormal places, which end in _gt
ABNORMAL = re.compile(r"gt_frame\s*=\s*\[([\d:,\s]+)\]")


@dataclass(frozen=True)
class LabelledRows:
    """Rows (n, d) and which of them are anomalies (n,)."""

    x: Floats
    is_anomaly: NDArray[np.bool_]


@dataclass(frozen=True)
class ClassSets:
    """Items of several classes with the published split: pixels (n, h, w[, 3]) or feature vectors (n, d).

    pictures: of the training part, where its vectors were made from them by the extractor named.
    """

    x_train: NDArray[Any]
    y_train: NDArray[np.int64]
    x_test: NDArray[Any]
    y_test: NDArray[np.int64]
    pictures: NDArray[np.uint8] | None = None
    extractor: str = ""

    @property
    def classes(self) -> tuple[int, ...]:
        return tuple(int(code) for code in np.unique(self.y_train))


Content = LabelledRows | ClassSets


def read_rows(path: Path) -> LabelledRows:
    """A .npz file with X (n, d) and y (n,) of 0 and 1."""
    arrays = _arrays(path, "X", "y")
    truth = np.ravel(arrays["y"])
    if arrays["X"].ndim != 2 or len(truth) != len(arrays["X"]) or not np.isin(truth, (0, 1)).all():
        raise DataError(f"{path.name} must hold X (n, d) and y (n,) of 0 and 1, one per row. Save it in that form.")
    return LabelledRows(arrays["X"].astype(np.float32), truth == 1)


def read_classes(path: Path) -> ClassSets:
    """A .npz file with x_train, y_train, x_test, y_test: pixels, or feature vectors made from them."""
    return _class_sets(*_arrays(path, "x_train", "y_train", "x_test", "y_test").values())


def read_medmnist(path: Path) -> ClassSets:
    """A MedMNIST file: train and test images; the validation part is left alone, as in the paper."""
    return _class_sets(*_arrays(path, "train_images", "train_labels", "test_images", "test_labels").values())


def read_cifar(folder: Path) -> ClassSets:
    """CIFAR-10's binary version: one label byte and 3 x 32 x 32 pixel bytes per image."""
    train = [_cifar_batch(folder / f"data_batch_{n}.bin") for n in range(1, 6)]
    x_test, y_test = _cifar_batch(folder / "test_batch.bin")
    return _class_sets(np.concatenate([x for x, _ in train]), np.concatenate([y for _, y in train]), x_test, y_test)


def read_idx_classes(place: Path) -> ClassSets:
    """Fashion-MNIST's four idx files: their folder, or one of them."""
    folder = place if place.is_dir() else place.parent
    names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return _class_sets(*(read_idx_array(folder / f"{name}-ubyte.gz") for name in names))


def read_frames(folder: Path) -> tuple[list[Path], NDArray[np.bool_]]:
    """UCSD Peds1 as it is published: the frames of all clips in order, and which of them are abnormal.

    Clips in Train are normal; Test/*.m lists for every clip in Test the numbers of its abnormal frames, from 1 on.
    """
    clips = sorted(path for path in folder.glob("T*/T*") if path.is_dir() and CLIP.fullmatch(path.name))
    tests = [clip for clip in clips if clip.parent.name == "Test"]
    listing = next(iter(sorted(folder.glob("Test/*.m"))), None)
    ranges = [] if listing is None else ABNORMAL.findall(listing.read_text(encoding="utf-8", errors="replace"))
    if not tests or len(ranges) != len(tests):
        raise DataError(f"{folder} has {len(tests)} test clips and lists {len(ranges)} of them. Get it again.")
    abnormal = dict(zip(tests, map(_frame_numbers, ranges), strict=True))
    frames = [(clip, frame) for clip in clips for frame in sorted(clip.glob("*.tif"))]
    truth = [int(frame.stem) in abnormal.get(clip, ()) for clip, frame in frames]
    return [frame for _, frame in frames], np.array(truth, np.bool_)


def _frame_numbers(text: str) -> set[int]:
    """Numbers and ranges of them, such as '5:90, 140:200'."""
    ends = [[int(end) for end in part.split(":")] for part in text.replace(",", " ").split()]
    return {number for span in ends for number in range(span[0], span[-1] + 1)}


def _cifar_batch(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    content = np.fromfile(path, np.uint8)
    if len(content) % CIFAR_ROW:
        raise DataError(f"{path.name} has {len(content)} bytes, no multiple of {CIFAR_ROW}. Fetch it again.")
    rows = content.reshape(-1, CIFAR_ROW)
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]


def _class_sets(x_train: Any, y_train: Any, x_test: Any, y_test: Any) -> ClassSets:
    codes = [np.ravel(y).astype(np.int64) for y in (y_train, y_test)]
    if len(codes[0]) != len(x_train) or len(codes[1]) != len(x_test):
        raise DataError("The file has another number of labels than of items. Give one label per item.")
    return ClassSets(x_train, codes[0], x_test, codes[1])


def _arrays(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in names}
    except Exception as error:  # a damaged file raises errors of many kinds
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DataError(f"{path.name} must hold the arrays {', '.join(names)}: {reason}.") from error


Kind = Literal["table", "features", "images", "video"]
Reader = Callable[[Path], Content]

ADBENCH = "https://github.com/Minqi824/ADBench/raw/main/adbench/datasets/Classical/"
FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
MEDMNIST = "https://zenodo.org/records/10519652/files/"
UCSD = "http://www.svcl.ucsd.edu/projects/anomaly/UCSD_Anomaly_Dataset.tar.gz"
CIFAR = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"


@dataclass(frozen=True)
class Dataset:
    """One data set.

    local: paths below the data folder at which a copy may lie, the first that exists is read.
    files: where it can be fetched from; none: it has to be put into the data folder.
    content: the first 32 hex digits of the SHA-256 of its values, for tables whose source publishes no checksum.
    protocol: how it becomes a pool and a test set: contaminated, natural, one-vs-rest or frames.
    """

    name: str
    title: str
    kind: Kind
    licence: str
    protocol: str
    local: tuple[str, ...]
    reader: Reader | None = None
    files: tuple[RemoteFile, ...] = ()
    content: str = ""


def _table(title: str, number: int | None, content: str = "", protocol: str = "natural") -> Dataset:
    """number: ADBench's own; None for a table that it does not have."""
    name, known = title.lower(), f"{number}_{title}.npz"
    local = (f"tables/{name}.npz", f"{name}.npz", *([known] if number else []))
    files = (RemoteFile(f"{name}.npz", f"{ADBENCH}{known}", ""),) if number else ()
    return Dataset(name, title, "table", "ODDS, free for research", protocol, local, read_rows, files, content)


def _embedding(name: str, title: str, protocol: str) -> Dataset:
    """512-d ResNet-18 features, one class normal; ADBench keeps them outside its repository."""
    local = (f"embeddings/{title}.npz", f"{title}.npz")
    return Dataset(name, title, "features", "ADBench, free for research", protocol, local, read_rows)


def _medmnist(title: str, md5: str) -> Dataset:
    name = f"{title.lower()}mnist"
    file = RemoteFile(f"{name}.npz", f"{MEDMNIST}{name}.npz?download=1", md5)
    local = (f"{name}-features.npz", f"images/{name}.npz", f"{name}.npz")
    return Dataset(name, title, "images", "CC BY 4.0", "one-vs-rest", local, read_medmnist, (file,))


_FASHION_FILES = tuple(
    RemoteFile(f"fashion-mnist/{name}-ubyte.gz", f"{FASHION}{name}-ubyte.gz", md5)
    for name, md5 in (
        ("train-images-idx3", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1", "bb300cfdad3c16e7a12a480ee83cd310"),
    )
)

_ALL = (
    _table("breastw", 4, "67dd3625a2916394206d4fb06aa34c00", "contaminated"),
    _table("Ionosphere", 18, "ce17a7578b72bcaf5f45d1fd0bc79078", "contaminated"),
    _table("Pima", 29, "76560843bddc27599615fd82f8e3dd81", "contaminated"),
    _table("satellite", 30, "203d3f5aa28e7a9ccbfac4f756f44e96", "contaminated"),
    _table("annthyroid", 2, "5ac334c2355c3322ff024fac90c9044b"),
    _table("cardio", 6, "0dc7e75b1e2e2ec591652f0f84ff3283"),
    _table("cover", 10, "0443fe5f24d41a9740c8ccfb0e841d23"),
    _table("glass", 14, "666a3e864fb2d4830496d7edf8d1bbcc"),
    _table("http", 16, "51a22049b70429ac9087485666ae1ea7"),
    _table("letter", 20, "a743ae7a36f2cc34a8d0eec32c934e78"),
    _table("mammography", 23, "d3b8f1440f253da0e680587c974aa588"),
    _table("thyroid", 38, "e1c2f0869ff93d387d6faf88057f7c14"),
    _table("vowels", 40, "12769c8f7e5e3e0bd5a28951573d9be8"),
    _table("Arrhythmia", None),
    _table("WBC", None, "ef65bfb375eb27d4688912dbe6c84bc8"),
    *(_embedding(f"cifar10-{n}", f"CIFAR10_{n}", "natural") for n in range(10)),
    *(_embedding(f"mvtec-{n}", f"MVTec-AD_{n}", "contaminated") for n in ("bottle", "cable", "capsule", "carpet")),
    Dataset(
        "cifar10", "CIFAR-10", "images", "no licence stated; cite Krizhevsky 2009", "one-vs-rest",
        ("cifar10-features.npz", "cifar10.npz", "cifar-10-batches-bin"), read_cifar,
        (RemoteFile("cifar-10-binary.tar.gz", CIFAR, "c32a1d4ab5d03f1284b67883e8d87530"),),
    ),
    Dataset(
        "fashion-mnist", "Fashion-MNIST", "images", "MIT", "one-vs-rest",
        ("fashion-mnist-features.npz", "fashion-mnist", "train-images-idx3-ubyte.gz"), read_idx_classes, _FASHION_FILES,
    ),
    _medmnist("Blood", "7053d0359d879ad8a5505303e11de1dc"),
    _medmnist("OrganA", "866b832ed4eeba67bfb9edee1d5544e6"),
    _medmnist("OrganC", "0afa5834fb105f7705a7d93372119a21"),
    _medmnist("OrganS", "e5c39f1af030238290b9557d9503af9d"),
    _medmnist("OCT", "c68d92d5b585d8d81f7112f81e2d0842"),
    _medmnist("Path", "a8b06965200029087d5bd730944a56c1"),
    _medmnist("Pneumonia", "28209eda62fecd6e6a2d98b1501bb15f"),
    _medmnist("Tissue", "ebe78ee8b05294063de985d821c1c34b"),
    _medmnist("Derma", "0744692d530f8e62ec473284d019b0c7"),
    Dataset(
        "ucsd-peds1", "UCSD Peds1", "video", "free for research", "frames",
        ("ucsd-peds1-features.npz", "video/ucsd_peds1", "UCSD_Anomaly_Dataset.v1p2/UCSDped1"), read_rows,
        (RemoteFile("UCSD_Anomaly_Dataset.tar.gz", UCSD, "5006421b89885f45a6f93b041145f2eb"),),
    ),
)  # fmt: skip

CATALOGUE: Mapping[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def find_dataset(name: str) -> Dataset:
    """A data set by its name."""
    if name not in CATALOGUE:
        raise ConfigError(f"There is no data set called {name!r}. `python -m soel_paper datasets` lists them.")
    return CATALOGUE[name]


def reader_for(dataset: Dataset, path: Path) -> Reader:
    """How this copy is read: extracted features and plain arrays look alike whatever they were made from."""
    if path.name.endswith("-features.npz") and dataset.protocol == "one-vs-rest":
        return read_classes
    if path.name == "cifar10.npz":
        return read_classes
    assert dataset.reader is not None
    return dataset.reader
