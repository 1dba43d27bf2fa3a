"""Thumbnails and neighbours."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image

from soel.errors import DataError
from soel.images.decode import as_jpeg, load_thumbnail
from soel.session.pictures import nearest
from tests.images.makers import noise


def test_a_thumbnail_keeps_the_shape_and_is_never_blown_up() -> None:
    assert Image.open(io.BytesIO(as_jpeg(noise(0, 40, 80), 20))).size == (20, 10)
    assert Image.open(io.BytesIO(as_jpeg(noise(0, 40, 80), 500))).size == (80, 40)


def test_a_thumbnail_is_made_once(tmp_path: Path) -> None:
    made = load_thumbnail(tmp_path, "../../item", 32, lambda: noise(0))
    assert load_thumbnail(tmp_path, "../../item", 32, lambda: pytest.fail("made twice")) == made
    assert all(path.is_relative_to(tmp_path) for path in tmp_path.rglob("*.jpg"))
    assert load_thumbnail(tmp_path, "other", 32, lambda: noise(1)) != made


@pytest.mark.parametrize("size", [0, -5, 100_000])
def test_sizes_out_of_range(size: int) -> None:
    with pytest.raises(DataError, match="pixels wide"):
        as_jpeg(noise(0), size)


@given(row=st.integers(0, 19), k=st.integers(0, 25))
def test_the_nearest_come_first_and_never_the_row_itself(row: int, k: int) -> None:
    matrix = np.random.default_rng(0).normal(size=(20, 4))
    among = np.arange(0, 20, 2)
    found = nearest(matrix, row, among, k)
    distances = np.linalg.norm(matrix - matrix[row], axis=1)
    others = sorted(distances[[other for other in among if other != row]])
    assert row not in found
    np.testing.assert_allclose(distances[found], others[:k])
