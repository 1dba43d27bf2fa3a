"""One question for each moment of a clip."""

from __future__ import annotations

import numpy as np

from soel.ask.portions import spread_over_time
from soel.types import Rows, Selection

MOMENTS = np.array([[0, 0.0], [0, 0.5], [0, 1.2], [1, 0.2], [0, 9.0], [1, 0.9]])


def order(*rows: int, known: Rows | None = None) -> list[int]:
    chosen = Selection(np.array(rows), np.array(rows) / 10)
    spread = spread_over_time(chosen, MOMENTS, np.zeros(0, np.int64) if known is None else known)
    np.testing.assert_array_equal(spread.odds, spread.rows / 10)  # odds stay with their rows
    return [int(row) for row in spread.rows]


def test_frames_of_the_same_second_come_after_all_others() -> None:
    assert order(0, 1, 3, 5, 4) == [0, 3, 4, 1, 5]
    assert order(0, 2, 4) == [0, 2, 4]  # more than a second apart


def test_what_was_answered_before_counts_too() -> None:
    assert order(1, 4, 3, known=np.array([0])) == [4, 3, 1]


def test_nothing_is_lost_where_all_are_of_one_moment() -> None:
    assert order(1, 0) == [1, 0]
