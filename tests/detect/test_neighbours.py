"""Distances to the cleaned pool: laws and small cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from soel.assess.metrics import auroc
from soel.detect.neighbours import (
    CLIP,
    Neighbours,
    NeighboursOptions,
    around_anomalies,
)
from soel.errors import ConfigError
from tests.conftest import Sample

NOTHING = np.full(200, -1, np.int8)


def test_rows_around_labelled_anomalies_by_hand() -> None:
    x = np.concatenate([np.arange(10.0), 50 + np.arange(10.0)])[:, None].repeat(4, axis=0)
    labels = np.full(80, -1, np.int8)
    labels[[0, 40]] = [0, 1]
    suspects = around_anomalies(x, labels, NeighboursOptions.grown_share)
    assert suspects[40]
    assert suspects[40:].sum() == suspects.sum() == 4  # 5 % of the pool, all of the anomaly's own cluster


def test_rows_nearer_to_a_normal_row_are_not_grown_over() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    labels = np.array([1, -1, -1, 0, -1, -1], np.int8)
    assert np.flatnonzero(around_anomalies(x, labels, 0.9)).tolist() == [0, 1], "2 lies nearer to 3"
    labels[3] = -1
    assert np.flatnonzero(around_anomalies(x, labels, 0.9)).tolist() == [0, 1, 2, 3, 4], "nine tenths of six"
    assert np.flatnonzero(around_anomalies(x, labels, 0.0)).tolist() == [0]


def test_each_anomaly_grows_over_its_part_of_the_share() -> None:
    x = np.concatenate([np.arange(10.0), 100 + np.arange(10.0)])[:, None]
    labels = np.full(20, -1, np.int8)
    labels[[0, 19]] = 1
    assert np.flatnonzero(around_anomalies(x, labels, 0.3)).tolist() == [0, 1, 2, 17, 18, 19], "three each"
    labels[1] = 0
    assert np.flatnonzero(around_anomalies(x, labels, 0.3)).tolist() == [0, 17, 18, 19], "a normal label stays one"


def test_labels_help(toy: Sample) -> None:
    without = auroc(toy.is_anomaly, Neighbours.fit(toy.x, NOTHING, 0).score(toy.x))
    with_labels = auroc(toy.is_anomaly, Neighbours.fit(toy.x, toy.labels(), 0).score(toy.x))
    assert with_labels > max(without, 0.95)


def test_a_normal_label_lowers_its_neighbourhood(toy: Sample) -> None:
    before = Neighbours.fit(toy.x, NOTHING, 0).score(toy.x)
    row = int(before.argmax())
    labels = NOTHING.copy()
    labels[row] = 0
    after = Neighbours.fit(toy.x, labels, 0).score(toy.x)
    assert (after < after[row]).mean() < (before < before[row]).mean()


def test_one_wild_value_is_clipped(toy: Sample) -> None:
    fitted, wild = Neighbours.fit(toy.x, NOTHING, 0), toy.x[:1].copy()
    wild[0, 0] = 1e6
    clipped = wild.copy()
    clipped[0, 0] = CLIP
    np.testing.assert_array_equal(fitted.score(wild), fitted.score(clipped))


def test_large_pools_are_sampled_by_the_seed() -> None:
    x = np.random.default_rng(0).normal(size=(NeighboursOptions.reference_rows + 2000, 3)).astype(np.float32)
    labels = np.full(len(x), -1, np.int8)
    first, second, other = (Neighbours.fit(x, labels, seed) for seed in (1, 1, 2))
    assert len(first.reference) == NeighboursOptions.reference_rows
    np.testing.assert_array_equal(first.reference, second.reference)
    assert not np.array_equal(first.reference, other.reference)


@pytest.mark.parametrize("x", [np.ones((5, 2)), np.zeros((2, 1))], ids=["copies", "two rows"])
def test_rows_that_are_all_the_same_score_0(x: np.ndarray) -> None:
    assert Neighbours.fit(x, np.full(len(x), -1, np.int8), 0).score(x).tolist() == [0] * len(x)


def test_few_rows_on_a_line() -> None:
    x = np.arange(6.0)[:, None]  # those beyond CLIP are one point
    scores = Neighbours.fit(x, np.full(6, -1, np.int8), 0).score(x)
    assert scores.mean() == pytest.approx(0, abs=1e-6)
    assert scores.argmin() == 2  # the middle one
    assert scores[0] > scores[1] > scores[2]
    assert scores[3] == scores[4] == scores[5]


def test_options_change_the_fit_and_unknown_ones_are_refused(toy: Sample) -> None:
    few = Neighbours.fit(toy.x, NOTHING, 0, options={"reference_rows": 20})
    assert len(few.reference) == 20
    with pytest.raises(ConfigError, match=r"no option 'rows'. It takes: reference_rows"):
        Neighbours.fit(toy.x, NOTHING, 0, options={"rows": 20})
