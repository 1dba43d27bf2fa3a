"""The catalogue of public data sets: what each is, where it comes from, how it is read and split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from soel.download import RemoteFile
from soel.errors import ConfigError
from soel_paper.catalogue_files import Content, read_cifar, read_classes, read_idx_classes, read_medmnist, read_rows

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
