"""Arrays by the beginnings of their names, and members of an ensemble on one scale."""

from __future__ import annotations

import numpy as np

from soel.numeric.arrays import standardise, within


def test_only_the_beginning_of_a_name_is_looked_at_and_cut_off_once() -> None:
    arrays = {name: np.array([at]) for at, name in enumerate(("a.x", "a.a.x", "b.a.x", "ax", "a."))}
    assert {name: int(array[0]) for name, array in within(arrays, "a.").items()} == {"x": 0, "a.x": 1, "": 4}


def test_each_member_of_an_ensemble_counts_in_its_own_unit() -> None:
    scores, mean, deviation = np.array([[1.0, 5.0], [100.0, 300.0]]), np.array([3.0, 100.0]), np.array([2.0, 50.0])
    np.testing.assert_array_equal(standardise(scores, mean, deviation), [(-1 + 0) / 2, (1 + 4) / 2])
