"""From any picture to a square, the same way by the image library and in torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from soel.images.decode import fit_shorter_side, square
from soel.images.torch_resnet import prepare
from tests.images.makers import noise

SIDE = st.integers(1, 300)


@settings(max_examples=40, deadline=None)
@given(height=SIDE, width=SIDE, size=st.integers(8, 64))
def test_any_picture_becomes_a_square(height: int, width: int, size: int) -> None:
    assert square(np.zeros((height, width, 3), np.uint8), size).shape == (size, size, 3)
    assert min(fit_shorter_side(height, width, size)) == size


def test_what_is_kept_is_the_centre_of_the_whole_resized() -> None:
    picture = noise(0, 60, 100)
    whole = np.asarray(Image.fromarray(picture).resize((50, 30), Image.Resampling.BILINEAR))
    difference = np.abs(square(picture, 30).astype(int) - whole[:, 10:40])
    assert difference.max() <= 1
    assert difference.mean() < 0.05


@pytest.mark.parametrize("shape", [(32, 32), (28, 28), (20, 45), (90, 70)])
def test_both_ways_give_the_same_pixels(shape: tuple[int, int]) -> None:
    picture = noise(1, *shape)
    ours = prepare(torch.from_numpy(picture)[None], 64)[0].permute(1, 2, 0).numpy()
    difference = np.abs(ours - square(picture, 64))
    assert difference.max() <= 1
    assert difference.mean() < 0.04
