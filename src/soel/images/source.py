"""Which reader a path needs: folder of pictures, clips, arrays, idx files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soel.errors import ConfigError, DataError, naming
from soel.images import decode, video
from soel.images.image_arrays import (
    MAX_UNPACKED,
    ImageArrays,
    holds_pictures,
    image_array,
    is_idx,
    read_arrays,
    read_idx,
)
from soel.images.image_files import Scanned, image_file, image_folder
from soel.images.image_items import PictureSource, describe


@dataclass(frozen=True)
class Reading:
    """How a source is read. every: keep each n-th frame. frame_rate: the pictures of a folder are frames of a
    clip, so many a second. strict: stop at a file that cannot be read instead of leaving it out.
    max_unpacked: how many bytes the pictures of a packed file may have when they are unpacked.
    """

    every: int = 1
    frame_rate: float | None = None
    strict: bool = False
    max_unpacked: int = MAX_UNPACKED

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ConfigError(f"Every n-th frame is kept for n from 1 on, got {self.every}.")
        if self.frame_rate is not None and self.frame_rate <= 0:
            raise ConfigError(f"The frame rate must be positive, got {self.frame_rate}.")
        if self.max_unpacked < 1:
            raise ConfigError(f"max_unpacked is a number of bytes above 0, got {self.max_unpacked}.")


def is_media(path: Path) -> bool:
    """Whether a path is a source of pictures rather than a table."""
    if path.is_dir():
        return True
    suffix = path.suffix.lower()
    if suffix in (".npz", ".npy"):
        return holds_pictures(path)
    return suffix in video.SUFFIXES or suffix in decode.SUFFIXES or is_idx(path)


def open_source(path: Path, reading: Reading | None = None, scanned: Scanned | None = None) -> PictureSource:
    """Find the items of a path. scanned: told of (files looked at, files in all)."""
    reading = reading or Reading()
    source = _open(Path(path), reading, scanned)
    if source.skipped and reading.strict:
        raise DataError(
            f"{len(source.skipped)} of the files cannot be read: {describe(source.skipped)}. Nothing was started."
        )
    if not source.items:
        raise DataError(f"Nothing in {path} can be read: {describe(source.skipped)}.")
    return source


def _open(path: Path, reading: Reading, scanned: Scanned | None) -> PictureSource:
    if not path.exists():
        raise DataError(f"{path} does not exist. Give a folder of pictures or clips, or a file of them.")
    if path.is_dir():
        return _open_folder(path, reading, scanned)
    suffix = path.suffix.lower()
    if suffix in video.SUFFIXES:
        return video.read_clips(path, reading.every, scanned)
    with naming(path.name):
        if is_idx(path):
            return read_idx(path, reading.max_unpacked)
        if suffix in (".npz", ".npy"):
            return read_arrays(path, reading.max_unpacked)
    if suffix in decode.SUFFIXES:
        return image_file(path, scanned)
    raise DataError(f"{path.name} is of an unknown kind. Give a folder, a picture, a clip, .npz, .npy or idx files.")


def _open_folder(path: Path, reading: Reading, scanned: Scanned | None) -> PictureSource:
    files = [file for file in path.rglob("*") if file.is_file()]
    if any(file.suffix.lower() in video.SUFFIXES for file in files):
        return video.read_clips(path, reading.every, scanned)
    arrays = sorted(file for file in path.iterdir() if is_idx(file))
    if arrays:
        return _join(path.name, [read_idx(file, reading.max_unpacked) for file in arrays])
    return image_folder(path, reading.frame_rate, reading.every, scanned)


def _join(name: str, parts: list[ImageArrays]) -> ImageArrays:
    """Several idx files as one source; ids are given anew, so that equal pictures stay apart."""
    items = [item for part in parts for item in part.items]
    classes = [item.category for item in items] if all(item.category for item in items) else None
    return image_array(name, np.concatenate([part.pictures for part in parts]), classes, [item.name for item in items])
