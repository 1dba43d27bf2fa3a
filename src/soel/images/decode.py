"""Pictures in files: found in folders, decoded, and brought to the size that a network takes."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from soel.errors import DataError
from soel.files import write_whole
from soel.images.image_items import DIGITS, MediaItem, Picture, Skipped, check_name, leave_out, number_ids, reason
from soel.plugins import missing_package

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp"})
FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP")  # no other decoder is ever started
MAX_PIXELS = 64_000_000
MAX_BYTES = 512 << 20
PIXELS_PER_BYTE = 1100  # no compression of pixels that we read packs more, but for black and white and WebP
_DEEP = ("I", "I;16", "I;16B", "I;16L", "I;16N")
SIZES = (16, 2048)
QUALITY = 90


def check_header(path: Path) -> None:
    """Refuse what is empty, gigantic, no picture, or says of itself what cannot be. For one thread at a time."""
    size = path.stat().st_size
    if not size:
        raise DataError("the file is empty")
    if size > MAX_BYTES:
        raise DataError(f"{size >> 20} MiB are more than {MAX_BYTES >> 20}")
    with warnings.catch_warnings():
        warnings.simplefilter("error", image_library().DecompressionBombWarning)
        with _open(path) as image:
            _check_size(image, size)


def load_picture(path: Path) -> Picture:
    """The picture (H, W, 3): upright, grey repeated, transparency on white, 16 bits brought to 8."""
    with _open(path) as image:
        _check_size(image, path.stat().st_size)
        try:
            return np.asarray(_as_rgb(image))
        except Exception as error:  # decoders of damaged files raise errors of every kind
            raise DataError(f"it cannot be decoded: {reason(error)}") from error


def _open(path: Path) -> Any:
    pillow = image_library()
    try:
        return pillow.open(path, formats=FORMATS)
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise DataError(f"more than {MAX_PIXELS} pixels") from error
    except Exception as error:
        raise DataError("it is not a picture that can be read") from error


def _check_size(image: Any, size: int) -> None:
    pixels = image.width * image.height
    if pixels > MAX_PIXELS:
        raise DataError(f"{image.width} x {image.height} are more than {MAX_PIXELS} pixels")
    if pixels > PIXELS_PER_BYTE * size and image.mode != "1" and image.format != "WEBP":
        raise DataError(f"its header claims {image.width} x {image.height} pixels, which {size} bytes cannot hold")


def _as_rgb(image: Any) -> Any:
    from PIL import Image, ImageOps

    if image.mode == "F":
        raise DataError("its pixels are floating-point numbers; save it with 8 or 16 bits")
    ImageOps.exif_transpose(image, in_place=True)  # before its note is lost with the lower bits
    if image.mode in _DEEP:
        image = Image.fromarray(_from_16_bits(np.asarray(image)))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        ground = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(ground, image)
    return image if image.mode == "RGB" else image.convert("RGB")


def _from_16_bits(values: np.ndarray) -> Picture:
    """The upper 8 bits: the same brightness means the same in every file."""
    upper: Picture = (np.clip(values, 0, 65535).astype(np.uint16) >> 8).astype(np.uint8)
    return upper


def image_library() -> Any:
    """Pillow's Image module; says which extra brings it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_package("Pictures", "Pillow", "images") from error
    return Image


def square(picture: Picture, size: int) -> Picture:
    """A picture (H, W, 3) as (size, size, 3): shorter side to `size`, bilinear, then the centre.

    Of a wide picture only the part that is kept is computed; of a tall one all rows, since the library rounds
    otherwise when it starts between two of them.
    """
    pillow = image_library()
    height, width = picture.shape[:2]
    tall, wide = (side * size // min(height, width) for side in (height, width))
    top, left = (tall - size) // 2, (wide - size) // 2
    if (tall, wide) == (height, width):
        return picture[top : top + size, left : left + size]
    across = width / wide
    part = (left * across, 0, (left + size) * across, height)
    whole = pillow.fromarray(np.ascontiguousarray(picture))
    narrowed = np.asarray(whole.resize((size, tall), pillow.Resampling.BILINEAR, box=part))
    return narrowed[top : top + size]


def shrink(picture: Picture, size: int) -> Picture:
    """A picture (H, W, 3) with no side longer than `size`; a smaller one stays as it is."""
    image = image_library().fromarray(picture)
    image.thumbnail((size, size))
    return np.asarray(image)


def as_jpeg(picture: Picture, size: int) -> bytes:
    """A picture (H, W, 3) as JPEG with no side longer than `size`; a smaller one is not blown up."""
    low, high = SIZES
    if not low <= size <= high:
        raise DataError(f"A thumbnail is {low} to {high} pixels wide, got {size}.")
    buffer = io.BytesIO()
    image_library().fromarray(shrink(picture, size)).save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()


def load_thumbnail(folder: Path, item: str, size: int, load: Callable[[], Picture]) -> bytes:
    """The thumbnail from the folder, or made now and put there. Files are named by a digest, never by the id."""
    path = folder / str(size) / f"{hashlib.sha256(item.encode()).hexdigest()[:32]}.jpg"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        content = as_jpeg(load(), size)
        write_whole(path, content)
        return content


Scanned = Callable[[int, int], None]
Frame = tuple[str, int | None, float | None]  # clip, number and time; nothing of a picture that is no frame


@dataclass(frozen=True)
class ImageFiles:
    """Files with one picture each."""

    name: str
    items: tuple[MediaItem, ...]
    skipped: tuple[Skipped, ...]
    paths: tuple[Path, ...]

    def read(self, rows: Sequence[int]) -> Iterator[Picture | DataError]:
        for row in rows:
            yield _load(self.paths[row])


def image_folder(
    folder: Path, frame_rate: float | None = None, every: int = 1, scanned: Scanned | None = None
) -> ImageFiles:
    """All pictures below a folder. With a frame rate, the pictures of each folder are the frames of a clip."""
    paths = sorted((p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()), key=_natural)
    if not paths:
        raise DataError(f"{folder} holds no pictures ({', '.join(sorted(SUFFIXES))}). Give a folder that does.")
    frames = None if frame_rate is None else _frames(paths, frame_rate, every)
    paths = paths if frames is None else list(frames)
    names = [path.relative_to(folder).as_posix() for path in paths]
    return _scan(folder.name, paths, names, scanned, frames or {})


def image_file(path: Path, scanned: Scanned | None = None) -> ImageFiles:
    """One picture."""
    return _scan(path.stem, [path], [path.name], scanned)


def image_list(name: str, paths: Sequence[Path], scanned: Scanned | None = None) -> ImageFiles:
    """Pictures by their paths, in the order given."""
    return _scan(name, paths, [str(path) for path in paths], scanned)


def _scan(
    name: str,
    paths: Sequence[Path],
    names: Sequence[str],
    scanned: Scanned | None,
    frames: Mapping[Path, Frame] = MappingProxyType({}),
) -> ImageFiles:
    """Look at every header and digest every file, once."""
    kept: list[tuple[Path, str]] = []
    digests, skipped = [], []
    for at, (path, shown) in enumerate(zip(paths, names, strict=True)):
        try:
            check_name(shown)
            check_header(path)
            digests.append(_digest(path))
            kept.append((path, shown))
        except (DataError, OSError) as error:
            skipped.append(leave_out(shown, error))
        if scanned is not None:
            scanned(at + 1, len(paths))
    items = [
        MediaItem(item, shown, _top_folder(shown), *frames.get(path, ("", None, None)))
        for item, (path, shown) in zip(number_ids(digests), kept, strict=True)
    ]
    return ImageFiles(name, tuple(items), tuple(skipped), tuple(path for path, _ in kept))


def _top_folder(name: str) -> str:
    return name.split("/")[0] if "/" in name and not name.startswith("/") else ""


def _frames(paths: Sequence[Path], rate: float, every: int) -> dict[Path, Frame]:
    """Every n-th picture of each folder."""
    counts, frames = Counter[Path](), dict[Path, Frame]()
    for path in paths:
        number = counts[path.parent]
        counts[path.parent] += 1
        if number % every == 0:
            frames[path] = (path.parent.name, number, number / rate)
    return frames


def _natural(path: Path) -> list[str | int]:
    """Sorts frame 9 before frame 10."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"(\d+)", str(path)))]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS]


def _load(path: Path) -> Picture | DataError:
    try:
        return load_picture(path)
    except DataError as error:
        return error
    except OSError as error:
        return DataError(reason(error))
