"""Laws of distances, cells, directions and samples for any rows that hypothesis thinks of."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from soel.ask.space import Space, find_origin
from soel.numeric import (
    blocks,
    gaussian,
    gumbel,
    in_order,
    mahalanobis,
    mean_of_nearest,
    nearest,
    nearest_exactly,
    nearest_of,
    pairs,
    random_bits,
    smallest,
    unit,
)
from soel.types import Floats

VALUES = st.integers(-20, 20).map(float)  # small whole numbers: every way of measuring is then exact
SIZES = st.integers(1, 12)


@st.composite
def tables(draw: st.DrawFn, n_tables: int = 2) -> list[Floats]:
    width = draw(st.integers(1, 4))
    return [draw(arrays(np.float64, (draw(SIZES), width), elements=VALUES)) for _ in range(n_tables)]


def truth(x: Floats, others: Floats) -> Floats:
    return np.asarray(np.sqrt(((x[:, None] - others[None]) ** 2).sum(axis=2)))


@settings(max_examples=40, deadline=None)
@given(tables())
def test_every_way_agrees(given_tables: list[Floats]) -> None:
    x, others = given_tables
    apart = truth(x, others)
    np.testing.assert_allclose(pairs(x, others), apart, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([part for _, part in blocks(x, others)]), apart, atol=1e-6)
    np.testing.assert_allclose(nearest(x, others), apart.min(axis=1), atol=1e-6)
    for owner, squares in (nearest_of(x, others), nearest_exactly(x, others)):
        np.testing.assert_array_equal(squares, (apart**2).min(axis=1).round())
        np.testing.assert_array_equal(owner, (apart**2).round().argmin(axis=1))  # of equals the first


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 14))
def test_more_neighbours_are_never_nearer_on_average(given_tables: list[Floats], k: int) -> None:
    x, others = given_tables
    few, more = mean_of_nearest(x, others, k), mean_of_nearest(x, others, k + 1)
    assert (more >= few - 1e-4).all()
    wanted = np.sort(truth(x, others), axis=1)[:, : min(k, len(others))].mean(axis=1)
    np.testing.assert_allclose(few, wanted, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(tables(1), st.integers(1, 5))
def test_a_row_is_no_neighbour_of_itself(given_tables: list[Floats], k: int) -> None:
    (x,) = given_tables
    assume(len(x) > 1)
    away = truth(x, x)
    np.fill_diagonal(away, np.inf)
    wanted = np.sort(away, axis=1)[:, : min(k, len(x) - 1)].mean(axis=1)
    np.testing.assert_allclose(mean_of_nearest(x, x, k, np.arange(len(x))), wanted, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(arrays(np.float32, st.tuples(SIZES, st.integers(1, 80)), elements=VALUES), st.data())
def test_the_smallest_of_each_row(values: Floats, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, values.shape[1]))
    np.testing.assert_array_equal(np.sort(smallest(values, k), axis=1), np.sort(values, axis=1)[:, :k])


@settings(max_examples=40, deadline=None)
@given(tables(1))
def test_a_space_measures_as_the_plain_way(given_tables: list[Floats]) -> None:
    (x,) = given_tables
    space, apart = Space(x.astype(np.float32)), truth(x, x)
    for row in range(len(x)):
        np.testing.assert_allclose(space.distances(row), apart[row], atol=2e-2)
    assert abs(space.diameter() - apart.max()) < 2e-2
    some = np.arange(0, len(x), 2)
    np.testing.assert_allclose(space.nearest(some), apart[some].min(axis=0), atol=2e-2)


@settings(max_examples=40, deadline=None)
@given(tables(1))
def test_the_origin_is_the_mean(given_tables: list[Floats]) -> None:
    (x,) = given_tables
    mean, is_far = find_origin(x.astype(np.float32))
    np.testing.assert_allclose(mean, x.mean(axis=0), atol=1e-4)
    variance = float(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean())
    square = float((x.mean(axis=0) ** 2).sum())
    assume(abs(square - 100 * variance) > 1e-3 * (1 + square))
    assert is_far == (square > 100 * variance)


@settings(max_examples=40, deadline=None)
@given(tables(1), st.floats(0.1, 100))
def test_a_direction_has_length_1_whatever_the_length_was(given_tables: list[Floats], factor: float) -> None:
    (x,) = given_tables
    lengths = np.linalg.norm(unit(x), axis=1)
    np.testing.assert_allclose(lengths, (x != 0).any(axis=1), atol=1e-5)
    np.testing.assert_allclose(unit(factor * x), unit(x), atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(tables(1), arrays(np.float64, 4, elements=VALUES))
def test_mahalanobis_does_not_care_where_the_cloud_lies(given_tables: list[Floats], move: Floats) -> None:
    (x,) = given_tables
    assume(len(x) > 1)
    move = move[: x.shape[1]]
    here, there = gaussian(x), gaussian(x + move)
    np.testing.assert_allclose(mahalanobis(x, *here), mahalanobis(x + move, *there), rtol=1e-5, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 1000), st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_noise_belongs_to_the_row_alone(seed: int, draw: int, rows: list[int]) -> None:
    together = gumbel(seed, draw, np.array(rows))
    alone = [gumbel(seed, draw, np.array([row]))[0] for row in rows]
    assert together.tolist() == alone
    assert len(set(random_bits(seed, draw, np.array(rows)).tolist())) == len(set(rows))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(), max_size=30), st.integers(1, 4), st.integers(1, 6))
def test_results_come_in_the_order_given(numbers: list[int], n_threads: int, n_ahead: int) -> None:
    assert list(in_order(lambda number: number + 1, numbers, n_threads, n_ahead)) == [number + 1 for number in numbers]
