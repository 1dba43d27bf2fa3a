"""Readers of published data files: what each returns is either labelled rows or classes with a given test set."""

from __future__ import annotations

import gzip
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
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
        """The class codes."""
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
    return _class_sets(*(read_idx(folder / f"{name}-ubyte.gz") for name in names))


def read_idx(path: Path) -> NDArray[np.uint8]:
    """One idx file of unsigned bytes, gzipped."""
    with gzip.open(path, "rb") as file:
        zeros, kind, n_axes = struct.unpack(">HBB", file.read(4))
        if zeros or kind != 8 or not 1 <= n_axes <= 3:
            raise DataError(f"{path.name} is no idx file of bytes. Fetch it again.")
        shape = struct.unpack(f">{n_axes}I", file.read(4 * n_axes))
        content = file.read()
    if len(content) != int(np.prod(shape)):
        raise DataError(f"{path.name} says {shape} but holds {len(content)} bytes. Fetch it again.")
    return np.frombuffer(content, np.uint8).reshape(shape)


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
