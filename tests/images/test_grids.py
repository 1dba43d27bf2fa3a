"""Where places lie in a picture, by hand and by a dot that moves through it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from soel.images.export import LITE_SIZE as SIZE
from soel.images.extractors import DEFAULT, default_file
from soel.images.grids import Grid, count_places
from soel.images.onnx_extractor import OnnxExtractor
from soel.images.patches import map_grid
from soel.types import Floats


def test_values_pass_evenly_between_the_middles_of_places() -> None:
    grid, values = Grid.square(4), np.array([[0.0, 1, 2, 3]])
    large = grid.enlarge(values, 4, 4)[0]
    np.testing.assert_allclose(large[0], [0, 0.25, 0.75, 1])
    assert grid.enlarge(values, 6, 10).shape == (1, 6, 10)
    np.testing.assert_allclose(grid.enlarge(values, 2, 2)[0].ravel(), values[0])


def test_a_square_grid_sees_the_middle_and_a_whole_one_everything() -> None:
    assert Grid.square(9).seen(40, 100) == (0, 30, 40, 40)
    assert Grid.square(4).seen(101, 40) == (30, 0, 40, 40)
    assert Grid.square(4).middles(40, 100).tolist() == [[40, 10], [60, 10], [40, 30], [60, 30]]
    assert Grid(2, 4).size(80, 200) == (20, 40)
    wide = Grid(2, 6, whole=True)
    assert (wide.seen(40, 100), wide.size(40, 120)) == ((0, 0, 40, 100), (20, 20))
    assert wide.middles(40, 120)[[0, -1]].tolist() == [[10, 10], [110, 30]]


@pytest.mark.parametrize(
    ("side", "n_tiles", "overlap", "wanted"), [(14, 1, 0.5, 14), (14, 3, 0.5, 28), (7, 2, 0, 14), (10, 4, 0.25, 32)]
)
def test_places_that_tiles_share_count_once(side: int, n_tiles: int, overlap: float, wanted: int) -> None:
    assert count_places(side, n_tiles, overlap) == wanted


@given(st.integers(1, 16), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.25, 0.5]))
def test_the_number_of_places_tells_how_many_lie_along_each_side(
    side: int, down: int, across: int, overlap: float
) -> None:
    wanted = Grid(count_places(side, down, overlap), count_places(side, across, overlap), whole=True)
    assert Grid.of_tiles(wanted.down * wanted.across, down, across, overlap) == wanted


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 20), st.integers(1, 20))
def test_enlarged_values_keep_sides_apart_and_add_nothing(down: int, across: int, height: int, width: int) -> None:
    grid = Grid(down, across)
    np.testing.assert_allclose(grid.enlarge(np.full((1, down * across), 3.0), height, width), 3, rtol=1e-6)
    by_row = grid.enlarge(np.repeat(np.arange(float(down)), across)[None], height, width)[0]
    assert (np.diff(by_row, axis=0) >= 0).all(), "rows of places pass from the top to the bottom"
    np.testing.assert_allclose(np.diff(by_row, axis=1), 0, atol=1e-5)


def test_places_a_step_apart_begin_at_the_rim() -> None:
    grid = Grid(3, 3, step=0.4)
    assert grid.middles(10, 20)[:3].tolist() == [[5, 0], [9, 0], [13, 0]]
    assert grid.size(10, 20) == (4, 4)
    drawn = grid.enlarge(np.arange(9.0)[None] % 3, 10, 10)[0]
    np.testing.assert_allclose(drawn[0], np.minimum(np.arange(0.5, 10) / 4, 2), rtol=1e-6)


HALF = 3  # of the dot's side, in pixels
DOTS = [(y, x) for y in range(44, 221, 22) for x in range(44, 221, 22)]


@pytest.fixture(scope="module")
def changes() -> Floats:
    """How far each place (dots, P) changes when a dot comes into a picture of weak noise."""
    extractor = OnnxExtractor(default_file(), DEFAULT, "lite")
    plain = np.random.default_rng(0).integers(112, 144, (1, SIZE, SIZE, 3), np.uint8)
    _, before = extractor.look(plain)
    found = []
    for y, x in DOTS:
        dotted = plain.copy()
        dotted[0, y - HALF : y + HALF, x - HALF : x + HALF] = 255
        found.append(np.square(np.float32(extractor.look(dotted)[1]) - before).sum(axis=2)[0])
    return np.array(found)


def centres(drawn: Floats) -> Floats:
    """The middles (n, 2) of the strongest parts of maps (n, H, W), y and x."""
    strong = np.clip(drawn - drawn.max(axis=(1, 2), keepdims=True) / 2, 0, None)
    strong /= strong.sum(axis=(1, 2), keepdims=True)
    along = np.arange(drawn.shape[1]) + 0.5
    return np.stack([strong.sum(axis=2) @ along, strong.sum(axis=1) @ along], axis=1)


def test_a_map_shows_a_dot_where_it_is(changes: Floats) -> None:
    grid = Grid.square(changes.shape[1])
    off = centres(map_grid(grid, DEFAULT).enlarge(changes, SIZE, SIZE)) - DOTS
    first = np.array(DOTS).max(axis=1) < SIZE / 2
    assert np.abs(off.mean(axis=0)).max() < 1.5
    assert np.abs(off[first].mean(axis=0)).max() < 2
    even = centres(grid.enlarge(changes, SIZE, SIZE)) - DOTS
    assert even[first].mean() > 3, "without steps, maps lie too far to the right and down"


def test_places_of_other_networks_and_of_tiles_stay_even() -> None:
    assert map_grid(Grid.square(289), "my.onnx").step is None
    tiles = Grid(17, 34, whole=True)
    assert map_grid(tiles, DEFAULT) == tiles
