"""Which reader a path of pictures needs; and pictures that lie in arrays: .npz as MedMNIST has it, .npy, idx files."""

from __future__ import annotations

import gzip
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import ConfigError, DataError, naming
from soel.images import decode, video
from soel.images.decode import Scanned, image_file, image_folder
from soel.images.image_items import MediaItem, Picture, PictureSource, Skipped, describe, digest_of, number_ids, reason

MAX_UNPACKED = 4 << 30
BYTES_PER_BYTE = 1100  # deflate cannot pack more
_IDX_BYTES, _IDX_AXES = 0x08, 4
Headers = Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]


@dataclass(frozen=True)
class ImageArrays:
    """Pictures of one size, in memory."""

    name: str
    items: tuple[MediaItem, ...]
    pictures: NDArray[np.uint8]
    skipped: tuple[Skipped, ...] = ()

    def read(self, rows: Sequence[int]) -> Iterator[Picture | DataError]:
        for row in rows:
            picture = self.pictures[row]
            yield np.repeat(picture, 3, axis=-1) if picture.shape[-1] == 1 else picture


def image_array(name: str, pictures: Any, classes: Any = None, names: Sequence[str] | None = None) -> ImageArrays:
    """Pictures (N, H, W), (N, H, W, 1) or (N, H, W, 3) of bytes, with their classes (N,) where they are known."""
    pictures = np.asarray(pictures)
    pictures = pictures[..., None] if pictures.ndim == 3 else pictures
    if pictures.dtype != np.uint8 or pictures.ndim != 4 or pictures.shape[-1] not in (1, 3) or not pictures.size:
        raise DataError(
            f"{name} holds {pictures.dtype} of shape {pictures.shape}. Pictures must be bytes of shape "
            "(N, H, W), (N, H, W, 1) or (N, H, W, 3)."
        )
    ids = number_ids(digest_of(np.ascontiguousarray(picture)) for picture in pictures)
    names = names or [f"{name} {row}" for row in range(len(ids))]
    kinds = [""] * len(ids) if classes is None else [str(kind) for kind in np.asarray(classes).ravel().tolist()]
    items = tuple(MediaItem(*parts) for parts in zip(ids, names, kinds, strict=True))
    return ImageArrays(name, items, pictures)


def holds_pictures(path: Path) -> bool:
    """Whether an .npz or .npy file holds arrays of pictures rather than a table, judged by the headers alone."""
    try:
        headers = _headers(path)
    except Exception:  # whoever reads the file says what is wrong with it
        return False
    return any(_is_pictures(*header) for header in headers.values())


def read_arrays(path: Path, max_unpacked: int = MAX_UNPACKED) -> ImageArrays:
    """All parts of a file: train, val and test one after the other, with their labels as classes.

    Arrays that are neither pictures nor their classes stay packed. max_unpacked: how many bytes the others may have.
    """
    try:
        headers = _headers(path)
        parts = [name for name, header in headers.items() if _is_pictures(*header)]
        kinds = [_name_of_classes(name, headers) for name in parts]
        wanted = dict.fromkeys([*parts, *(name for name in kinds if name is not None)])
        if path.suffix.lower() == ".npz":
            _check_limit(path, sum(_n_bytes(*headers[name]) for name in wanted), max_unpacked)
        arrays = _load(path, list(wanted))
        pictures = [arrays[name] if arrays[name].ndim == 4 else arrays[name][..., None] for name in parts]
        whole = pictures[0] if len(pictures) == 1 else np.concatenate(pictures)
    except DataError:
        raise
    except Exception as error:  # damaged archives raise errors of every kind
        raise DataError(f"{path.name} cannot be read: {reason(error)}. Save it again with np.savez.") from error
    classes = None if None in kinds else np.concatenate([arrays[name].ravel() for name in kinds if name is not None])
    names = [f"{_part(name)} {row}" for name in parts for row in range(len(arrays[name]))]
    return image_array(path.stem, whole, classes, names)


def read_idx(path: Path, max_unpacked: int = MAX_UNPACKED) -> ImageArrays:
    """An idx file of pictures; the classes come from the labels file beside it, where there is one."""
    pictures = read_idx_array(path, max_unpacked)
    beside = path.with_name(path.name.replace("images-idx3", "labels-idx1"))
    classes = read_idx_array(beside, max_unpacked) if beside != path and beside.exists() else None
    names = [f"{path.name.split('-')[0]} {row}" for row in range(len(pictures))]
    return image_array(path.name.split(".")[0], pictures, classes, names)


def is_idx(path: Path) -> bool:
    """Whether a file is called like idx files are."""
    return "idx3-ubyte" in path.name


def _part(name: str) -> str:
    return name.removesuffix("_images").removeprefix("x_")


def _is_pictures(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return dtype == np.uint8 and len(shape) in (3, 4)


def _name_of_classes(name: str, headers: Headers) -> str | None:
    """The array with a class for each of these pictures, if there is one."""
    part, n = _part(name), headers[name][0][0]
    others = (f"{part}_labels", f"y_{part}", "labels", "y")
    return next((other for other in others if other in headers and math.prod(headers[other][0]) == n), None)


def _headers(path: Path) -> Headers:
    """Shape and type of each array. What claims to be larger than its bytes can hold is refused."""
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return {path.stem: _header(path, file, path.stat().st_size)}
    with zipfile.ZipFile(path) as archive:
        headers = {}
        for info in archive.infolist():
            if info.file_size > BYTES_PER_BYTE * max(info.compress_size, 1):
                raise DataError(f"{path.name}: {info.filename!r} claims to be larger than its bytes can hold. Refused.")
            with archive.open(info) as member:
                headers[info.filename.removesuffix(".npy")] = _header(path, member, info.file_size)
    return headers


def _header(path: Path, file: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if min(shape, default=0) < 0 or _n_bytes(shape, dtype) > size:
        raise DataError(f"{path.name} has an array that claims the shape {shape}, and {size} bytes are there. Refused.")
    return shape, dtype


def _n_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def _check_limit(path: Path, n_bytes: int, most: int) -> None:
    if n_bytes > most:
        raise DataError(
            f"{path.name} has {n_bytes:,} bytes of pictures when it is unpacked, and the limit is {most:,}. Save them "
            "as .npy, which is not read into memory, or raise the limit with <<max-unpacked>>."
        )


def _load(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    if path.suffix.lower() == ".npy":
        return {path.stem: np.load(path, mmap_mode="r", allow_pickle=False)}
    with np.load(path, allow_pickle=False) as archive:
        return {name: np.asarray(archive[name]) for name in names}


def read_idx_array(path: Path, max_unpacked: int = MAX_UNPACKED) -> NDArray[np.uint8]:
    """The bytes of an idx file, of as many axes as it says; gzipped or not."""
    size = path.stat().st_size
    packed = path.suffix == ".gz"
    opener = gzip.open if packed else open
    try:
        with opener(path, "rb") as file:
            zero, kind, n_axes = struct.unpack(">HBB", file.read(4))
            shape = struct.unpack(f">{n_axes}I", file.read(4 * n_axes))
            count = math.prod(shape)
            is_bytes = not zero and kind == _IDX_BYTES and 1 <= n_axes <= _IDX_AXES
            if not is_bytes or count > (BYTES_PER_BYTE if packed else 1) * size:
                raise DataError(f"{path.name} is no idx file of bytes, or claims more than it can hold. Refused.")
            _check_limit(path, count, max_unpacked)
            content = file.read(count)
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise DataError(f"{path.name} cannot be read: {reason(error)}. Fetch it again.") from error
    if len(content) != count:
        raise DataError(f"{path.name} holds {len(content)} of {count} values. Fetch it again.")
    return np.frombuffer(content, np.uint8).reshape(shape)


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
