"""Where places lie in a picture, by hand and by a dot that moves through it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from soel.images.extractors import DEFAULT, default_file
from soel.images.grids import Grid
from soel.images.onnx_extractor import OnnxExtractor
from soel.images.views import View
from soel.types import Floats


def test_values_pass_evenly_between_the_middles_of_places() -> None:
    grid, values = Grid(2, 2), np.array([[0.0, 1, 2, 3]])
    large = grid.enlarge(values, 4, 4)[0]
    np.testing.assert_allclose(large[0], [0, 0.25, 0.75, 1])
    assert grid.enlarge(values, 6, 10).shape == (1, 6, 10)
    np.testing.assert_allclose(grid.enlarge(values, 2, 2)[0].ravel(), values[0])


def test_a_grid_covers_its_frame() -> None:
    wide = Grid(2, 6)
    assert (wide.seen(40, 100), wide.size(40, 120)) == ((0, 0, 40, 100), (20, 20))
    assert wide.middles(40, 120)[[0, -1]].tolist() == [[10, 10], [110, 30]]
    part = Grid(2, 2, (0.25, 0.5, 0.75, 1.0))
    assert part.seen(40, 100) == (10, 50, 20, 50)
    assert part.middles(40, 100)[[0, -1]].tolist() == [[62.5, 15], [87.5, 25]]
    assert part.size(40, 100) == (25, 10)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 20), st.integers(1, 20))
def test_enlarged_values_keep_sides_apart_and_add_nothing(down: int, across: int, height: int, width: int) -> None:
    grid = Grid(down, across)
    np.testing.assert_allclose(grid.enlarge(np.full((1, down * across), 3.0), height, width), 3, rtol=1e-6)
    by_row = grid.enlarge(np.repeat(np.arange(float(down)), across)[None], height, width)[0]
    assert (np.diff(by_row, axis=0) >= 0).all(), "rows of places pass from the top to the bottom"
    np.testing.assert_allclose(np.diff(by_row, axis=1), 0, atol=1e-5)


def test_places_a_step_apart_begin_where_the_first_lies() -> None:
    grid = Grid(3, 3, first=(0.0, 0.0), step=(0.4, 0.4))
    assert grid.middles(10, 20)[:3].tolist() == [[0, 0], [8, 0], [16, 0]]
    assert grid.size(10, 20) == (8, 4)
    drawn = grid.enlarge(np.arange(9.0)[None] % 3, 10, 10)[0]
    np.testing.assert_allclose(drawn[0], np.minimum(np.arange(0.5, 10) / 4, 2), rtol=1e-6)


HALF = 3  # of the dot's side, in pixels
DOTS = [(y, x) for y in range(44, 221, 22) for x in range(44, 260, 22)][::3]


SHAPE = 256, 304


def centres(drawn: Floats) -> Floats:
    """The middles (n, 2) of the strongest parts of maps (n, H, W), y and x."""
    strong = np.clip(drawn - drawn.max(axis=(1, 2), keepdims=True) / 2, 0, None)
    strong /= strong.sum(axis=(1, 2), keepdims=True)
    y, x = (np.arange(side) + 0.5 for side in drawn.shape[1:])
    return np.stack([strong.sum(axis=2) @ y, strong.sum(axis=1) @ x], axis=1)


def test_a_map_shows_a_dot_where_it_is() -> None:
    view = View(OnnxExtractor(default_file(), DEFAULT, "lite"), SHAPE)
    plain, changes = np.random.default_rng(0).integers(112, 144, (1, *SHAPE, 3), np.uint8), []
    _, before = view.look(plain)
    for y, x in DOTS:
        dotted = plain.copy()
        dotted[0, y - HALF : y + HALF, x - HALF : x + HALF] = 255
        changes.append(np.square(np.float32(view.look(dotted)[1]) - before).sum(axis=2)[0])
    off = centres(view.grid.enlarge(np.array(changes), *SHAPE)) - DOTS
    assert np.abs(off.mean(axis=0)).max() < 2, off.mean(axis=0)
    even = centres(Grid(view.grid.down, view.grid.across).enlarge(np.array(changes), *SHAPE)) - DOTS
    assert np.abs(even.mean(axis=0)).max() > 3, "without the first place, maps lie too far to the right and down"
