"""Steps of the two detectors by distances, each worked by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from soel.detect import angular
from soel.detect.angular import ANOMALY_WEIGHT, SMALLEST, SMALLEST_TO_ANOMALY, _drop_suspects, _logarithms
from soel.detect.linear import _chance_above
from soel.detect.neighbours import ANOMALY_NEIGHBOURS, Neighbours, around_anomalies
from soel.types import Floats

UNLABELLED = np.full(10, -1, np.int8)


def with_anomalies(anomalies: list[float]) -> Neighbours:
    """On a line, with anomalies at these places and no row labelled normal."""
    zero, none = np.zeros(1), np.zeros(0)
    places = np.array(anomalies, np.float32)[:, None]
    reference = np.zeros((6, 1), np.float32)
    return Neighbours(reference, zero, np.ones((1, 1)), places, np.zeros((0, 1), np.float32), none, 1.0, 1.0, 0.0)


def test_ten_nearest_anomalies_count_and_no_more() -> None:
    places, x = [0.1 * (1 + place) for place in range(12)], np.zeros((1, 1), np.float32)
    assert ANOMALY_NEIGHBOURS == 10
    score = with_anomalies(places).score(x)
    np.testing.assert_array_equal(with_anomalies([*places[:10], 2.5, 2.9]).score(x), score)
    nearer, farther = with_anomalies([*places[:10], 1.1, 1.2]).score(x), with_anomalies([*places[:9], 2.0]).score(x)
    np.testing.assert_array_equal(nearer, score)
    mean = np.mean(places[:10])
    np.testing.assert_allclose(score - farther, np.log(mean + 0.1) - np.log(mean), rtol=1e-4)  # one lies 1 farther off


def test_all_rows_may_be_around_an_anomaly() -> None:
    labels = UNLABELLED.copy()
    labels[4] = 1
    x = np.arange(10.0)[:, None]
    assert around_anomalies(x, labels, 1.0).all()
    labels[9] = 0
    assert np.flatnonzero(around_anomalies(x, labels, 1.0)).tolist() == [0, 1, 2, 3, 4, 5, 6], "7 lies nearer to 9"


@pytest.mark.parametrize(("share", "kept"), [(None, 10), (0.2, 8), (0.5, 5), (0.9, 5)])
def test_no_more_than_half_of_the_rows_are_suspected(share: float | None, kept: int) -> None:
    found = _drop_suspects(np.arange(10.0), np.arange(10), UNLABELLED, share)
    assert found.tolist() == list(range(kept))


def test_a_row_labelled_normal_is_not_suspected() -> None:
    labels = UNLABELLED.copy()
    labels[9] = 0
    assert _drop_suspects(np.arange(10.0), np.arange(10), labels, 0.5).tolist() == [0, 1, 2, 3, 4, 9]


def test_the_nearest_anomaly_counts_seven_tenths() -> None:
    points, reference = np.array([[0.0], [4.0]]), np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [9.0]])
    near = np.log(np.array([3.0, 1.4]) + SMALLEST)  # means to the five nearest: 1..5 from 0; 3, 2, 1, 0, 1 from 4
    np.testing.assert_allclose(_logarithms(points, reference, np.zeros((0, 1))), near)
    anomalies = np.array([[-2.0], [4.5], [7.0]])
    expected = near - ANOMALY_WEIGHT * np.log(np.array([2.0, 0.5]) + SMALLEST_TO_ANOMALY)
    np.testing.assert_allclose(_logarithms(points, reference, anomalies), expected)
    assert ANOMALY_WEIGHT == 0.7


@pytest.mark.parametrize(("foresight", "weight"), [(0.3, 0.0), (0.5, 0.0), (0.75, 0.5), (1.0, 2.0)])
def test_the_linear_part_counts_as_much_as_it_foretells(
    foresight: float, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In units of the distances' spread: nothing where it foretells no better than a coin, 2 where all labels."""
    points: Floats = np.random.default_rng(0).normal(size=(40, 3))
    taught = SimpleNamespace(direction=np.array([1.0, -2.0, 0.5]), foresight=foresight)
    monkeypatch.setattr(angular, "_taught", lambda *_: taught)
    labels, rows = np.full(40, -1, np.int8), np.arange(40)
    scores, learnt = angular._neighbours(points, rows, labels, 0.1, np.random.default_rng(0))
    distances = _logarithms(points, points, np.zeros((0, 3)), rows)
    whole = learnt["unit_of_distance"] / distances.std()
    np.testing.assert_allclose((points @ learnt["direction"] * whole).std(), weight, atol=1e-9)
    np.testing.assert_allclose(scores, distances / learnt["unit_of_distance"] + points @ learnt["direction"])
    np.testing.assert_allclose(scores.std(), 1)


def test_equal_scores_are_half_in_order() -> None:
    """One anomaly beside two normal rows: level with the first, above the second."""
    assert _chance_above(np.array([1.0, 1.0, 0.0]), np.array([True, False, False])) == 0.75
    assert _chance_above(np.array([0.0, 1.0, 2.0]), np.array([True, False, False])) == 0.0
