"""One picture from a file of any common kind, as 8-bit RGB. The header is judged before any pixel is decoded."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import ConfigError, DataError
from soel.images.items import Picture, reason

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp"})
FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP")  # no other decoder is ever started
MAX_PIXELS = 64_000_000
MAX_BYTES = 512 << 20
PIXELS_PER_BYTE = 1100  # no compression of pixels that we read packs more, but for black and white and WebP
_DEEP = ("I", "I;16", "I;16B", "I;16L", "I;16N")


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
    return _decode(path, path.stat().st_size)


def _decode(source: Any, size: int) -> Picture:
    with _open(source) as image:
        _check_size(image, size)
        try:
            return np.asarray(_as_rgb(image))
        except Exception as error:  # decoders of damaged files raise errors of every kind
            raise DataError(f"it cannot be decoded: {reason(error)}") from error


def _open(source: Any) -> Any:
    pillow = image_library()
    try:
        return pillow.open(source, formats=FORMATS)
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

    if image.mode in _DEEP:
        image = Image.fromarray(_from_16_bits(np.asarray(image)))
    if image.mode == "F":
        raise DataError("its pixels are floating-point numbers; save it with 8 or 16 bits")
    ImageOps.exif_transpose(image, in_place=True)
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
        raise ConfigError("Pictures need Pillow, which is not installed: pip install 'soel[images]'.") from error
    return Image
