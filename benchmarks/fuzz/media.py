"""Readers of pictures, clips and networks."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image
from tests.images.makers import make_clip, noise, residual_network

from benchmarks.fuzz.target import Build, Target, one_file
from soel.errors import DataError, ModelFileError
from soel.images.onnx_extractor import OnnxExtractor
from soel.images.source import is_media, open_source
from soel.images.torch_resnet import TorchSession

SIDE = 16


def read_pictures(path: Path) -> None:
    """Find the pictures of a file, then decode them: one that fails says why, and stands for itself."""
    if not is_media(path):
        raise DataError(f"{path.name} is no source of pictures.")
    source = open_source(path)
    for picture in source.read(range(len(source.items))):
        if isinstance(picture, DataError):
            _check_line(picture)


def _read_folder(path: Path) -> None:
    read_pictures(path.parent)


def read_network(path: Path) -> None:
    """Run a network on two pictures, and take it over into torch."""
    pictures = np.zeros((2, SIDE, SIDE, 3), np.uint8)
    problems = []
    for use in (lambda: OnnxExtractor(path).features(pictures), lambda: TorchSession(path)):
        try:
            use()
        except ModelFileError as error:
            problems.append(error)
    if problems:
        raise problems[0]


def _check_line(error: DataError) -> None:
    assert "\n" not in str(error), f"a reason of several lines: {error}"


def _picture(suffix: str, mode: str = "RGB") -> Build:
    def build(folder: Path) -> Target:
        place = folder / "pictures"
        place.mkdir()
        Image.fromarray(noise(1)).convert(mode).save(place / f"p{suffix}")
        return one_file(place / f"p{suffix}", _read_folder)

    return build


def _clip(suffix: str) -> Build:
    return lambda folder: one_file(make_clip(folder / f"c{suffix}", n_frames=12), read_pictures)


def _arrays(name: str, write: Callable[[Path], object]) -> Build:
    def build(folder: Path) -> Target:
        write(folder / name)
        return one_file(folder / name, read_pictures)

    return build


def _write_idx(path: Path) -> None:
    head = struct.pack(">IIII", 0x803, 5, 8, 8)
    path.write_bytes(gzip.compress(head + bytes(range(256)) + bytes(64)))


def _network(folder: Path) -> Target:
    return one_file(residual_network(folder / "n.onnx"), read_network)


READERS: Mapping[str, Build] = {
    "p.png": _picture(".png"),
    "p.jpg": _picture(".jpg"),
    "p.tif": _picture(".tif", "L"),
    "p.bmp": _picture(".bmp"),
    "p.webp": _picture(".webp"),
    "p.npz": _arrays("p.npz", partial(np.savez_compressed, images=np.zeros((5, 8, 8, 3), np.uint8), y=np.zeros(5))),
    "idx3-ubyte.gz": _arrays("p-idx3-ubyte.gz", _write_idx),
    "c.mp4": _clip(".mp4"),
    "c.avi": _clip(".avi"),
    "c.mkv": _clip(".mkv"),
    "n.onnx": _network,
}
