"""Tiles: the whole picture is seen, at a stated resolution, and places lie where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.errors import ConfigError
from soel.images.extract import extract
from soel.images.grids import Grid
from soel.images.source import image_array
from soel.images.tiles import Tiled, count_tiles, stretch
from tests.images.test_patches import PlaceExtractor


@pytest.mark.parametrize(
    ("height", "width", "resolution", "tiles"),
    [
        (600, 600, 260, (1, 1)),
        (600, 600, 520, (2, 2, 0.125)),
        (500, 1500, 260, (1, 3, 0.125)),
        (1000, 700, 520, (3, 2, 0.125)),
    ],
)
def test_the_resolution_says_how_many(height: int, width: int, resolution: int, tiles: tuple[float, ...]) -> None:
    assert count_tiles(height, width, 260, resolution) == tiles


@pytest.mark.parametrize(("resolution", "why"), [(100, "less than"), (2600, "at most")])
def test_a_resolution_that_makes_no_sense_is_refused(resolution: int, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        count_tiles(500, 500, 260, resolution)


def test_what_lies_at_the_rim_is_seen_and_where_it_is() -> None:
    inner = PlaceExtractor()
    size = inner.size
    pictures = np.full((2, size, 3 * size, 3), 90, np.uint8)
    pictures[1, : size // 2, -size // 2 :] = 250  # in the upper right corner, which a cut to the middle loses
    tiled = extract(image_array("X", pictures), Tiled(inner, 1, 3), None, None, True)
    cut = extract(image_array("X", pictures), inner, None, None, True)
    assert tiled.patches is not None
    assert cut.patches is not None
    np.testing.assert_array_equal(cut.patches[0], cut.patches[1])
    side = round(cut.patches.shape[1] ** 0.5)
    grid = Grid(side, 3 * side, whole=True)
    apart = np.abs(tiled.patches[1].astype(float) - tiled.patches[0]).sum(axis=1)
    middles = grid.middles(size, 3 * size)[apart > 0]
    assert len(middles)
    assert middles[:, 0].min() > 2 * size
    assert middles[:, 1].max() < 0.75 * size


def test_features_are_the_mean_over_tiles_and_kept_apart_from_those_of_the_middle() -> None:
    inner = PlaceExtractor()
    pictures = np.random.default_rng(0).integers(0, 255, (2, 2 * inner.size, inner.size, 3), dtype=np.uint8)
    tiled = Tiled(inner, 2, 1)
    halves = [inner.features(pictures[:, : inner.size]), inner.features(pictures[:, inner.size :])]
    np.testing.assert_allclose(tiled.features(pictures), np.mean(halves, axis=0), rtol=1e-5)
    assert tiled.fingerprint != inner.fingerprint


def test_pictures_are_brought_to_the_size_of_the_tiles(tmp_path: Path) -> None:
    assert stretch(np.zeros((30, 70, 3), np.uint8), (64, 128)).shape == (64, 128, 3)


def test_tiles_overlap_and_each_place_comes_from_the_tile_in_whose_middle_it_lies() -> None:
    inner = PlaceExtractor()
    size, tiled = inner.size, Tiled(inner, 1, 2, 0.25)
    assert tiled.shape == (size, size + round(0.75 * size))
    pictures = np.random.default_rng(0).integers(0, 255, (1, *tiled.shape, 3), dtype=np.uint8)
    _, patches = tiled.look(pictures)
    halves = [inner.look(pictures[:, :, start : start + size])[1][0] for start in (0, tiled.shape[1] - size)]
    side = round(len(halves[0]) ** 0.5)
    grid = Grid.of_tiles(patches.shape[1], 1, 2, 0.25)
    assert (grid.down, grid.across, grid.whole) == (side, round(1.75 * side), True)
    joined = patches[0].reshape(grid.down, grid.across, -1)
    first, second = (half.reshape(side, side, -1) for half in halves)
    np.testing.assert_array_equal(joined[:, 0], first[:, 0])
    np.testing.assert_array_equal(joined[:, -1], second[:, -1])
    kept = [
        np.flatnonzero([(half[:, at] == joined[:, place]).all() for at in range(side)])
        for half in (first, second)
        for place in range(grid.across)
    ]
    assert all(len(found) <= 1 for found in kept)
    assert sum(map(len, kept)) == grid.across  # each from one of them


def test_a_defect_on_a_seam_is_whole_in_one_tile() -> None:
    inner, defect = PlaceExtractor(), 2  # pixels: an eighth of a tile
    down, across, *overlap = count_tiles(2 * inner.size, 3 * inner.size, inner.size, 2 * inner.size)
    for tiled in (Tiled(inner, int(down), int(across), *overlap), Tiled(inner, int(down), int(across))):
        height, width = tiled.shape
        n_cut = 0
        for top in range(0, height - defect + 1):
            for left in range(0, width - defect + 1):
                picture = np.zeros((1, height, width, 3), np.uint8)
                picture[:, top : top + defect, left : left + defect] = 255
                seen = (tiled._cut(picture)[..., 0] > 0).sum(axis=(1, 2))
                n_cut += int(seen.max() < defect**2)
        assert (n_cut == 0) is bool(tiled.overlap)
