"""Small pictures for people to look at, made once and kept."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from soel.durable import write_whole
from soel.errors import DataError
from soel.images.items import Picture
from soel.images.pictures import image_library

SIZES = (16, 2048)
QUALITY = 90


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
    image = image_library().fromarray(picture)
    image.thumbnail((size, size))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY)
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
