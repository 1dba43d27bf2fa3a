"""The third answer: which rows are not sure, by a rule that can be worked by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from soel.assess.conformal import UnsureBand

SHARES = st.floats(0, 1)
SCORES = arrays(np.float64, st.integers(1, 40), elements=st.floats(-100, 100))


def test_by_hand() -> None:
    scores = np.arange(11.0)  # the quantile at q is 10 q
    band = UnsureBand.of(scores, 0.1, 0.3)  # alarms lie above 9 at the least, above 7 at the most
    assert (band.low, band.high) == (7.0, 9.0)
    assert scores[band.holds(scores)].tolist() == [8.0, 9.0]


def test_who_knows_the_share_is_sure_of_every_row() -> None:
    assert not UnsureBand.of(np.arange(50.0), 0.2, 0.2).holds(np.arange(50.0)).any()


def test_without_a_pool_nothing_is_said() -> None:
    assert not UnsureBand.of(np.zeros(0), 0.1, 0.5).holds(np.arange(5.0)).any()


@given(SCORES, SHARES, SHARES)
def test_exactly_the_rows_that_change_sides_are_not_sure(scores: np.ndarray, one: float, other: float) -> None:
    least, most = sorted((one, other))
    sides = [scores > np.quantile(scores, 1 - share) for share in (least, most)]
    assert (UnsureBand.of(scores, least, most).holds(scores) == (sides[0] != sides[1])).all()


@given(SCORES, st.tuples(SHARES, SHARES, SHARES, SHARES))
def test_a_narrower_interval_leaves_fewer_open(scores: np.ndarray, ends: tuple[float, ...]) -> None:
    a, b, c, d = sorted(ends)
    wide, narrow = UnsureBand.of(scores, a, d).holds(scores), UnsureBand.of(scores, b, c).holds(scores)
    assert not (narrow & ~wide).any()


def test_ends_beyond_all_and_nothing_are_taken_for_these() -> None:
    assert UnsureBand.of(np.arange(5.0), -0.5, 1.5) == UnsureBand(0.0, 4.0)
