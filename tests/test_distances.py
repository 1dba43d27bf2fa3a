"""Every way of measuring distances against the plain one, in double precision."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from soel.ask.space import Space
from soel.numeric import (
    BLOCK_ROWS,
    RIDGE,
    SMALLEST_RIDGE,
    blocks,
    gaussian,
    mahalanobis,
    mean_of_nearest,
    nearest,
    nearest_exactly,
    nearest_of,
    pairs,
    squares_to,
)
from soel.types import Floats

SHAPES = [(1, 1, 1), (7, 3, 2), (BLOCK_ROWS + 5, 40, 6), (9 * BLOCK_ROWS, 11, 3)]


def plain(x: Floats, others: Floats) -> Floats:
    x, others = x.astype(np.float64), others.astype(np.float64)
    return np.array([np.sqrt(((x - other) ** 2).sum(axis=1)) for other in others]).T


def rows(n: int, m: int, d: int, dtype: type = np.float32) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_ways_measure_the_same(shape: tuple[int, int, int], dtype: type) -> None:
    x, others = rows(*shape, dtype)
    truth, k = plain(x, others), min(3, len(others))
    close = partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-3 if dtype is np.float32 else 1e-6)
    close(pairs(x, others), truth)
    close(np.concatenate([part for _, part in blocks(x, others)]), truth)
    close(nearest(x, others), truth.min(axis=1))
    close(np.sqrt(squares_to(x, others[0])), truth[:, 0])
    for owner, squares in (nearest_of(x, others), nearest_exactly(x, others)):
        close(np.sqrt(squares), truth.min(axis=1))
        close(truth[np.arange(len(x)), owner], truth.min(axis=1))
    np.testing.assert_allclose(Space(x).distances(0), plain(x, x[:1])[:, 0], atol=1e-3)  # always in single precision
    close(mean_of_nearest(x, others, k), np.sort(truth, axis=1)[:, :k].mean(axis=1))
    assert nearest(x, others).dtype == squares_to(x, others[0]).dtype == dtype


def test_the_nearest_of_none_is_infinitely_far() -> None:
    x, _ = rows(5, 1, 2)
    assert np.isinf(nearest(x, x[:0])).all()
    assert np.isinf(nearest_exactly(x, x[:0])[1]).all()


def test_mean_of_nearest_by_hand() -> None:
    x, others = np.array([[0.0], [10.0]]), np.array([[1.0], [2.0], [9.0]])
    np.testing.assert_allclose(mean_of_nearest(x, others, 2), [1.5, (1 + 8) / 2])
    np.testing.assert_allclose(mean_of_nearest(others, others, 1, np.arange(3)), [1, 1, 7])
    np.testing.assert_allclose(nearest(x, others), [1, 1])


def test_many_rows_on_many_cores_are_measured_as_few_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(6000, 5)).astype(np.float32)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    whole = mean_of_nearest(x, x[:300], 20)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    np.testing.assert_allclose(mean_of_nearest(x, x[:300], 20), whole, rtol=1e-5)


def test_differences_are_exact_far_from_the_origin() -> None:
    x = np.array([[1e6, 0.0], [1e6 + 1, 0.0], [1e6, 3.0]])
    np.testing.assert_array_equal(squares_to(x, x[0]), [0, 1, 9])
    np.testing.assert_array_equal(nearest_exactly(x, x[[0, 2]])[1], [0, 1, 0])


@pytest.mark.parametrize(
    "measure",
    [
        lambda x, others: nearest(x, others),
        lambda x, others: nearest_of(x, others),
        lambda x, others: nearest_exactly(x, others[:3]),
        lambda x, others: mean_of_nearest(x, others, 5),
    ],
)
def test_memory_grows_with_the_rows_not_with_their_pairs_or_width(measure: Callable[[Floats, Floats], object]) -> None:
    x, others = rows(60_000, 400, 64)
    tracemalloc.start()
    measure(x, others)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    limit = 24 * len(x) + 4 * 2**24 * 2  # a few numbers a row, and one block
    assert most < limit < x.nbytes * 10, f"{most} bytes"


def test_only_rows_that_are_among_the_others_leave_themselves_out() -> None:
    x, others = np.array([[0.0], [0.0], [5.0]]), np.array([[9.0], [0.0], [1.0]])
    found = mean_of_nearest(x, others, 2, np.array([-1, 1, -1]))
    np.testing.assert_allclose(found, [(0 + 1) / 2, (1 + 9) / 2, (4 + 4) / 2])
    assert mean_of_nearest(x[:1], others[1:2], 3, np.array([0])).tolist() == [0], "a row alone has no neighbour"


def test_rows_that_are_all_alike_have_a_shape_too() -> None:
    centre, whitening = gaussian(np.ones((5, 3)))
    assert np.isfinite(whitening).all()
    assert mahalanobis(np.zeros((1, 3)), centre, whitening)[0] > 100


def test_mahalanobis_is_the_inverse_covariance_with_its_ridge() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3)) @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.3]])
    covariance = np.cov(x.T)
    ridge = RIDGE * np.trace(covariance) / 3 + SMALLEST_RIDGE
    precision = np.linalg.inv(covariance + ridge * np.eye(3))
    centre, whitening = gaussian(x)
    np.testing.assert_allclose(centre, x.mean(axis=0))
    np.testing.assert_allclose(whitening @ whitening.T, precision, rtol=1e-9)
    for row in x[:5]:
        expected = np.sqrt((row - centre) @ precision @ (row - centre))
        np.testing.assert_allclose(mahalanobis(row[None], centre, whitening), [expected])
