"""Where in a picture the places of the default network lie: a dot that moves through it shows it."""

from __future__ import annotations

import numpy as np
import pytest

from soel.images.export import LITE_SIZE as SIZE
from soel.images.extractors import DEFAULT, default_file
from soel.images.grids import Grid
from soel.images.onnx_extractor import OnnxExtractor
from soel.images.patches import map_grid
from soel.types import Floats

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
