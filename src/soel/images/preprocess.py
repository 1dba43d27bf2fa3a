"""From a picture of any size to the square a network sees: shorter side resized, centre cut out."""

from __future__ import annotations

import numpy as np

from soel.images.items import Picture
from soel.images.pictures import image_library

IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32) * 255


def square(picture: Picture, size: int) -> Picture:
    """A picture (H, W, 3) as (size, size, 3): shorter side to `size`, bilinear, then the centre.

    Of a wide picture only the part that is kept is computed; of a tall one all rows, since the library rounds
    otherwise when it starts between two of them.
    """
    pillow = image_library()
    height, width = picture.shape[:2]
    tall, wide = fit_shorter_side(height, width, size)
    top, left = (tall - size) // 2, (wide - size) // 2
    if (tall, wide) == (height, width):
        return picture[top : top + size, left : left + size]
    across = width / wide
    part = (left * across, 0, (left + size) * across, height)
    whole = pillow.fromarray(np.ascontiguousarray(picture))
    narrowed = np.asarray(whole.resize((size, tall), pillow.Resampling.BILINEAR, box=part))
    return narrowed[top : top + size]


def fit_shorter_side(height: int, width: int, size: int) -> tuple[int, int]:
    """Height and width once the shorter side is `size`."""
    shorter = min(height, width)
    return height * size // shorter, width * size // shorter
