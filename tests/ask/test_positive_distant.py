"""The strategy for one question at a time, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from soel.ask.by_distance import TINY, PositiveDistant, _balance
from soel.errors import ConfigError
from soel.types import PoolView

POINTS = np.array([[0.0], [1.0], [2.0], [10.0]])
SCORES = np.array([0.0, 1.0, 2.0, 0.5])


def chosen(strategy: PositiveDistant, labels: list[int], n: int = 1) -> list[int]:
    view = PoolView(SCORES, POINTS, np.array(labels, np.int8), None)
    return [int(row) for row in strategy.select(view, n, np.random.default_rng(0)).rows]


def test_before_any_answer_the_most_suspicious_row_is_asked() -> None:
    assert chosen(PositiveDistant(), [-1, -1, -1, -1]) == [2]


def test_distance_and_suspicion_are_weighed_in_logarithms_and_deviations() -> None:
    z = (SCORES - SCORES.mean()) / SCORES.std()
    distance = np.log(np.abs(POINTS[:, 0]) + TINY)
    for tilt, row in ((0.5, 3), (1.0, 2)):  # far enough to outweigh less suspicion, or not
        assert int((distance + tilt * z)[1:].argmax()) + 1 == row
        assert chosen(PositiveDistant(tilt), [0, -1, -1, -1]) == [row]


def test_rows_of_one_round_keep_apart() -> None:
    assert chosen(PositiveDistant(0.5), [-1, -1, -1, -1], 2) == [2, 3]  # the neighbour of 2 is more suspicious than 3


def test_rows_after_the_first_keep_apart_unless_anomalies_are_to_be_found() -> None:
    points, scores = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0.0, 5.0, 6.0, -6.0])
    view = PoolView(scores, points, np.full(4, -1, np.int8), None)
    rows = {
        on: PositiveDistant(4.0, on).select(view, 2, np.random.default_rng(0)).rows.tolist() for on in (True, False)
    }
    assert rows == {True: [2, 0], False: [2, 1]}


def test_equal_scores_leave_the_distance_to_decide() -> None:
    view = PoolView(np.zeros(4), POINTS, np.array([0, -1, -1, -1], np.int8), None)
    assert PositiveDistant().select(view, 1, np.random.default_rng(0)).rows[0] == 3


def test_a_tilt_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="above 0"):
        PositiveDistant(tilt=0)


def test_many_anomalies_among_the_answers_turn_the_questions_to_normal_rows() -> None:
    # Equal distances: suspicion alone decides. One anomaly in one answer: 0.75 of them, so the tilt is nothing.
    points = np.eye(5) * 3
    scores = np.array([0.0, 1.0, 2.0, 3.0, 4.0])

    def asked(labels: list[int], balanced: bool) -> int:
        view = PoolView(scores, points, np.array(labels, np.int8), None)
        return int(PositiveDistant(1.0, balanced).select(view, 1, np.random.default_rng(0)).rows[0])

    all_anomalies = [-1, 1, 1, 1, -1]  # 3.5 / 4 of the answers: below nothing
    assert asked(all_anomalies, balanced=False) == 4
    assert asked(all_anomalies, balanced=True) == 0
    few = [-1, 0, 0, 1, -1]  # 1.5 / 4: the tilt is 0.75 of itself
    assert asked(few, balanced=True) == 4
    assert _balance(np.array(few, np.int8)) == pytest.approx(0.75)
    assert _balance(np.array([-1, -1], np.int8)) == _balance(np.array([0, 0, 0, -1], np.int8)) == 1.0
