"""A context that was read: how views count together, whose scores are known already, and rows with values changed."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect.incontext.predictor import EncodedContext, PoolContext, Predictor
from soel.detect.incontext.row_features import FAR, add_extra_distances
from soel.detect.incontext.samples import MOST_COLUMNS, wide_views
from soel.types import Floats

NO_VIEWS = np.zeros((0, 0, 0), np.float32)


def table(n_rows: int = 40, width: int = 3, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n_rows, width)).astype(np.float32)


def free(n_rows: int = 40) -> np.ndarray:
    return np.full(n_rows, -1, np.int8)


def read(x: Floats, labels: np.ndarray | None = None, views: Floats = NO_VIEWS, n_beyond: int = 0) -> Predictor:
    return Predictor(EncodedContext(PoolContext(x, views, 0, n_beyond)), free(len(x)) if labels is None else labels)


@pytest.fixture(scope="module")
def narrow() -> Predictor:
    labels = free()
    labels[:4] = [1, 0, 0, 0]
    return read(table(), labels)


@pytest.fixture(scope="module")
def wide() -> Predictor:
    x = table(40, 2 * MOST_COLUMNS + 1)
    return read(x, None, wide_views(x, 0))


def test_what_several_views_say_is_their_weighted_mean(wide: Predictor) -> None:
    new = table(3, 2 * MOST_COLUMNS + 1, seed=1)
    each = [view.logits(view.read(view.view.describe(new))) for view in wide.views]
    np.testing.assert_allclose(wide.logits(new), 0.5 * each[0] + (each[1] + each[2] + each[3]) / 6, atol=1e-5)


def test_each_group_of_columns_is_looked_at_as_it_is(wide: Predictor) -> None:
    x = table(5, 2 * MOST_COLUMNS + 1, seed=2)
    seen = np.concatenate([view.view.narrow(x) for view in wide.views[1:]], axis=1)
    assert seen.shape == x.shape, "no column is seen twice"
    assert sorted(seen[0].tolist()) == sorted(x[0].tolist())
    assert all(view.view.narrow(x).shape[1] <= MOST_COLUMNS for view in wide.views)


def test_known_and_new_rows_can_come_mixed(narrow: Predictor) -> None:
    new = table(3, seed=1)
    mixed = np.stack([new[0], table()[5], new[1], table()[6], new[2]])
    found = narrow.logits(mixed)
    np.testing.assert_allclose(found[[0, 2, 4]], narrow.logits(new), atol=1e-4)
    np.testing.assert_allclose(found[[1, 3]], narrow.views[0].logits(narrow.views[0].outputs)[[5, 6]], atol=1e-6)


def test_a_labelled_anomaly_raises_the_rows_around_it() -> None:
    x, labels = table(), free()
    x[:5] += 3  # a small group of its own
    untold = read(x, labels)
    labels[[0, 10, 11]] = [1, 0, 0]
    told = read(x, labels)
    assert told.logits(x)[1:5].mean() > untold.logits(x)[1:5].mean() + 0.5
    assert told.log_odds(x)[1:5].mean() > untold.log_odds(x)[1:5].mean() + 0.5


def test_a_changed_row_of_another_origin_scores_as_any_row(narrow: Predictor) -> None:
    new = table(4, seed=1)
    np.testing.assert_allclose(
        narrow.context.changed_logits([narrow], new, new[:, None] + 1)[0], narrow.logits(new), atol=1e-4
    )


def test_where_rows_are_the_whole_context_they_are_not_taken_away() -> None:
    both = np.array([[1, 1], [2, 2]], np.float32)
    alone, x = read(both), np.full((1, 2), 1.5, np.float32)
    np.testing.assert_allclose(alone.context.changed_logits([alone], x, both[None])[0], alone.logits(x), atol=1e-4)


def test_of_equal_rows_one_is_taken_away() -> None:
    alone = read(np.ones((12, 2), np.float32))
    assert alone.context.find(np.ones((3, 2, 2), np.float32)).sum(axis=(1, 2)).tolist() == [1, 1, 1]


def test_rows_beyond_the_sample_change_nothing_of_what_is_said_of_it() -> None:
    x, labels = table(43), free(43)
    labels[[3, 40, 41, 42]] = [0, 1, 0, 1]
    told = read(x, labels, n_beyond=3)
    seen, alone = told.context.views[0].encoded, read(x[:40]).context.views[0].encoded
    np.testing.assert_array_equal(seen.stats.z, alone.stats.z)
    np.testing.assert_array_equal(seen.rows.scores[:, :40], alone.rows.scores)
    np.testing.assert_array_equal(seen.cells.cells[:, :40], alone.cells.cells)
    np.testing.assert_array_equal(seen.rows.distances[:, :, :40, :40], alone.rows.distances)
    apart = np.sqrt(np.square(seen.rows.z[0][:, None] - seen.rows.z[0][None, 40:]).mean(axis=2))
    np.testing.assert_allclose(seen.rows.distances[0, 0][:, 40:], apart, atol=2e-3)
    assert told.views[0].outputs.logits.shape == (1, 43)


def test_a_changed_row_does_not_look_at_its_origin_beyond_the_sample() -> None:
    """A copy of a labelled anomaly is raised by it, and is not where it was made of that very row."""
    x, labels = table(43), free(43)
    x[40] = [3, 3, 3]
    labels[[3, 5, 40, 41, 42]] = [0, 0, 1, 0, 0]
    both = read(x, labels, n_beyond=3)
    near = x[40:41] + np.float32(0.1)
    as_new, as_changed = both.logits(near)[0], both.context.changed_logits([both], near, x[40:41][None])[0][0]
    assert as_changed < as_new - 0.1
    seen = both.context.views[0].encoded
    far = add_extra_distances(seen.stats, seen.rows, seen.stats.describe(near[None]), np.arange(43)[None] == 40)
    assert far.distances.shape == (2, 1, 1, 43)
    assert (far.distances[..., 40] == FAR).all()
    assert (far.distances[..., 41:] < 10).all()


def test_a_wide_row_that_differs_from_itself_by_rounding_has_a_score() -> None:
    """Products with the axes round differently for a few rows than for many; a row is left out of the context all the
    same.
    """
    x = table(300, 3 * MOST_COLUMNS)
    labels = free(300)
    labels[:9] = [1, 0, 0, 0, 1, 0, 0, 0, 0]
    wide = read(x, labels, wide_views(x, 0))
    for n_rows in (1, 9):
        rows = x[:n_rows]
        assert np.isfinite(wide.context.changed_logits([wide], rows, rows[:, None])[0]).all()
