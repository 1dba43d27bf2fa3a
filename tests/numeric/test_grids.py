"""Where places lie in a picture."""

from __future__ import annotations

import numpy as np

from soel.numeric.grids import Grid


def test_values_pass_evenly_between_the_middles_of_places() -> None:
    grid, values = Grid.square(4), np.array([[0.0, 1, 2, 3]])
    large = grid.enlarge(values, 4, 4)[0]
    np.testing.assert_allclose(large[0], [0, 0.25, 0.75, 1])
    assert grid.enlarge(values, 6, 10).shape == (1, 6, 10)
    np.testing.assert_allclose(grid.enlarge(values, 2, 2)[0].ravel(), values[0])


def test_a_square_grid_sees_the_middle_and_a_whole_one_everything() -> None:
    assert Grid.square(9).seen(40, 100) == (0, 30, 40, 40)
    wide = Grid(2, 6, whole=True)
    assert wide.seen(40, 100) == (0, 0, 40, 100)
    middles = wide.middles(40, 120)
    assert middles[0].tolist() == [10, 10]
    assert middles[-1].tolist() == [110, 30]
    assert wide.size(40, 120) == (20, 20)
