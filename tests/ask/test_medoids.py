"""Medoids: rows that stand for many others."""

from __future__ import annotations

import tracemalloc

import numpy as np

from soel.ask.by_group import Medoids
from soel.types import Floats, PoolView

CENTRES = 10 * np.eye(5)[:4]


def grouped(sizes: tuple[int, ...] = (40, 30, 20, 10), spread: float = 0.3) -> tuple[Floats, np.ndarray]:
    """Rows around the first centres, and the group of each."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return (CENTRES[group] + rng.normal(scale=spread, size=(len(group), 5))).astype(np.float32), group


def view(x: Floats, labelled: tuple[int, ...] = ()) -> PoolView:
    labels = np.full(len(x), -1, np.int8)
    labels[list(labelled)] = 0
    return PoolView(np.zeros(len(x)), x, labels)


def test_every_group_is_asked_about_once() -> None:
    x, group = grouped()
    rows = Medoids().select(view(x), 4, np.random.default_rng(0)).rows
    assert sorted(group[rows]) == [0, 1, 2, 3]


def test_the_row_in_the_middle_of_a_group_is_asked() -> None:
    x, group = grouped(spread=1.0)
    arms = x - x.mean(axis=0)
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    for row in Medoids().select(view(x), 4, np.random.default_rng(0)).rows:
        mine = arms[group == group[row]]
        gaps = np.linalg.norm(mine - mine.mean(axis=0), axis=1)
        assert np.linalg.norm(arms[row] - mine.mean(axis=0)) < np.median(gaps)


def test_groups_with_a_label_are_left_for_others() -> None:
    x, group = grouped()
    known = (0, 45)  # of the first and the second group
    rows = Medoids().select(view(x, known), 2, np.random.default_rng(0)).rows
    assert sorted(group[rows]) == [2, 3]


def test_the_reserve_holds_the_next_of_each_group() -> None:
    x, group = grouped()
    rows = Medoids().select(view(x), 4, np.random.default_rng(0), n_reserve=4).rows
    assert sorted(group[rows[4:]]) == [0, 1, 2, 3]


def test_a_group_far_from_the_middle_is_not_lost_among_many_near_it() -> None:
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=(2000, 8)), 8 * np.eye(8)[0] + rng.normal(scale=0.5, size=(30, 8))
    rows = Medoids().select(view(np.vstack([near, far]).astype(np.float32)), 6, np.random.default_rng(0)).rows
    assert (rows >= 2000).any()


def test_a_group_that_differs_along_a_narrow_axis_is_asked_about() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2030, 16)) * np.array([3.0] * 8 + [1.0] * 8)
    x[2000:, 15] += 7  # nearer to the middle than most of the others are
    for seed in range(5):
        assert (Medoids().select(view(x.astype(np.float32)), 10, np.random.default_rng(seed)).rows >= 2000).any()


def test_a_pool_larger_than_the_sample_is_asked_about_as_a_whole() -> None:
    x, group = grouped((12_000, 8_000, 4_000, 1_000))
    rows = Medoids().select(view(x), 4, np.random.default_rng(0)).rows
    assert sorted(group[rows]) == [0, 1, 2, 3]


def test_many_labels_cost_little_memory() -> None:
    x = np.random.default_rng(0).normal(size=(20_000, 16)).astype(np.float32)
    known = view(x, tuple(range(6000)))
    tracemalloc.start()
    rows = Medoids().select(known, 5, np.random.default_rng(0)).rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (rows >= 6000).all()
    assert peak < 200e6  # all distances at once are 336 MB
