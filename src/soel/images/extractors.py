"""Frozen networks that turn pictures into features and patches: by name, by file, or a user's own callable."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from soel.download import RemoteFile, download
from soel.errors import ConfigError, DataError
from soel.images.image_items import Picture
from soel.types import Floats

Pictures = NDArray[np.uint8]
DEFAULT = "efficientnet-lite2"
DEFAULT_WEIGHTS = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"  # sha256 of the published file
PACKAGED = Path(__file__).with_name(f"{DEFAULT}.onnx")  # written when the package is built
PIXELS = "?pixels="  # after an ONNX file's name: how it wants them
INPUTS = ("bytes", "unit", "imagenet", "lite")
NAMES: Mapping[str, str] = {
    DEFAULT: "1280 features of 260 px; it comes with soel, nothing is fetched",
    "resnet152": "2048 features of 224 px, the network of the paper; 242 MB are fetched on first use",
    "MODEL.onnx": "any ONNX file with a picture as input, run by onnxruntime, or by torch on a GPU",
    "MODEL.onnx?pixels=unit": "the same, saying how it wants pixels: bytes (0 to 255), unit (0 to 1), imagenet or lite",
}


class Extractor(Protocol):
    """A frozen network. size: the side of the square pictures it takes, in pixels.

    fingerprint: of the weights and the way pictures are prepared; None where nobody can know.
    One whose `features` may be called from several threads says by a number `n_together` from how many.
    """

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def size(self) -> int:
        """Pixels per side."""

    @property
    def fingerprint(self) -> str | None:
        """Which network this is, for the cache."""

    def features(self, pictures: Pictures) -> Floats:
        """Features (B, d) of pictures (B, size, size, 3)."""


RESNET152 = RemoteFile(
    "resnet152-v1-7.onnx",
    "https://huggingface.co/onnxmodelzoo/resnet152-v1-7/resolve/main/resnet152-v1-7.onnx",
    "b0ec92437bf8c9d0739bf9bafdea9638e13f9e3c1e2fb766ad546cc182fd3f6d",
)
REMOTE: Mapping[str, RemoteFile] = {"resnet152": RESNET152}  # by their checksum known to be the right ones


def open_extractor(which: str | Path | Extractor | Callable[[Picture], Any]) -> Extractor:
    """An extractor by name, by file, or the one given; one that has to be fetched or made is kept in the cache."""
    if callable(which):
        return OwnExtractor(which)
    if not isinstance(which, str | Path):
        return which
    from soel.images.onnx_extractor import OnnxExtractor

    if str(which) == DEFAULT:
        return OnnxExtractor(default_file(), DEFAULT, "lite", DEFAULT_WEIGHTS)
    if str(which) in REMOTE:
        return OnnxExtractor(fetch_model(REMOTE[str(which)], cache_folder() / "models"), str(which), "imagenet")
    path, pixels = onnx_file(which)
    if path is not None:
        return OnnxExtractor(path, pixels=pixels)
    raise ConfigError(f"There is no extractor called {str(which)!r}. Choose one of: {', '.join(NAMES)}.")


def default_file() -> Path:
    """The default extractor as ONNX: the file of the package, or one that a checkout without it makes once."""
    if PACKAGED.exists():
        return PACKAGED
    path = cache_folder() / "models" / f"{DEFAULT}-{DEFAULT_WEIGHTS[:8]}.onnx"
    if not path.exists():
        from soel.images.export import write_default

        write_default(path)
    return path


def onnx_file(which: str | Path) -> tuple[Path | None, str | None]:
    """The file that 'MODEL.onnx' or 'MODEL.onnx?pixels=unit' names, and how it wants its pixels; None if neither."""
    name, asked, pixels = str(which).partition(PIXELS)
    path = Path(name)
    if path.suffix.lower() != ".onnx":
        return None, None
    return path, check_pixels(pixels) if asked else None


def check_pixels(pixels: str) -> str:
    """A way to give pixels, or a ConfigError that says which there are."""
    if pixels not in INPUTS:
        raise ConfigError(f"Pixels are given as one of {', '.join(INPUTS)}, got {pixels!r}.")
    return pixels


@dataclass(frozen=True)
class OwnExtractor:
    """A user's own callable: a picture (size, size, 3) of bytes -> a vector. Its results are not kept between runs."""

    compute: Callable[[Picture], Any]
    size: int = 224

    @property
    def name(self) -> str:
        return str(getattr(self.compute, "__name__", type(self.compute).__name__))

    @property
    def fingerprint(self) -> str | None:
        """Unknown: a callable may change without a trace."""
        return None

    def features(self, pictures: Pictures) -> Floats:
        rows = [np.asarray(self.compute(picture), np.float32) for picture in pictures]
        if any(row.ndim != 1 or row.shape != rows[0].shape for row in rows):
            raise DataError(f"The extractor {self.name} must give one vector of the same length for every picture.")
        return np.stack(rows)


def file_digest(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_model(model: RemoteFile, folder: Path) -> Path:
    """A model file, kept in the folder; from its own address, or from the mirror that SOEL_MODELS names."""
    mirror = os.environ.get("SOEL_MODELS", "").rstrip("/")
    return download(replace(model, address=f"{mirror}/{model.name}") if mirror else model, folder)


def cache_folder() -> Path:
    """Where features and fetched models are kept: SOEL_CACHE, or the user's own cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SOEL_CACHE") or Path(home) / "soel")


# Patches: what the middle layers of a frozen network say about each place of a picture

DEPTH = 128  # values that a patch is kept with
SMALLEST_SIDE = 64  # pixels: of smaller pictures a place shows so few that the whole picture says as much
VERSION = 2  # raised whenever patches change
Patches = NDArray[np.float16]  # (N, P, D): P places row by row on a grid, D values each


@runtime_checkable
class PatchExtractor(Extractor, Protocol):
    """An extractor that can look at places too."""

    @property
    def takes_any_shape(self) -> bool:
        """Whether pictures may have another shape than (size, size)."""

    def look(self, pictures: Pictures) -> tuple[Floats, NDArray[np.float16]]:
        """Features (B, d) and patches (B, down, across, D) of pictures (B, H, W, 3), from one pass."""


def has_patches(extractor: Extractor) -> bool:
    """Whether an extractor can look at places: one from a file can where the file has middle layers to look at."""
    return isinstance(extractor, PatchExtractor) and bool(getattr(extractor, "middle", True))


def make_patches(layers: Sequence[Floats]) -> NDArray[np.float16]:
    """Middle layers (B, C, H, W) as patches (B, down, across, D) on the coarsest of their grids.

    Each is averaged over 3 x 3 places, brought to the grid, and to unit length at each place; of all values side by
    side a fixed random projection is kept: it changes the distances between patches little.
    """
    down, across = (min(layer.shape[axis] for layer in layers) for axis in (2, 3))
    values = np.concatenate([_unit(_on_grid(layer, down, across)) for layer in layers], axis=3)
    return (values @ _projection(values.shape[3], DEPTH)).astype(np.float16)


def _unit(values: Floats) -> Floats:
    lengths = np.linalg.norm(values, axis=3, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1))


def _on_grid(layer: Floats, down: int, across: int) -> Floats:
    """(B, down, across, C): means of 3 x 3 places around those of a finer grid that lie where the coarser ones do."""
    padded = np.pad(layer, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    rows, columns = _positions(layer.shape[2], down), _positions(layer.shape[3], across)
    tall = padded[:, :, rows] + padded[:, :, rows + 1] + padded[:, :, rows + 2]
    both = tall[:, :, :, columns] + tall[:, :, :, columns + 1] + tall[:, :, :, columns + 2]
    return np.ascontiguousarray(both.transpose(0, 2, 3, 1)) / np.float32(9)


def _positions(n_from: int, n_to: int) -> NDArray[np.int64]:
    return np.minimum(np.arange(n_to) * round(n_from / n_to), n_from - 1)


@cache
def _projection(width: int, depth: int) -> Floats:
    """(width, depth) with orthonormal columns, scaled so that lengths stay what they are on average.

    Fewer values than depth are kept as they are, and zeros after them.
    """
    if width <= depth:
        return np.eye(width, depth, dtype=np.float32)
    columns, upper = np.linalg.qr(np.random.default_rng(0).normal(size=(width, depth)))
    return np.asarray(columns * np.sign(np.diag(upper)) * np.sqrt(width / depth), np.float32)
