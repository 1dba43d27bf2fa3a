"""Exact limits: goldens worked by hand, laws by counting every possible draw."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.assess.spot_check import Bounds, highest_count, lowest_count


@pytest.mark.parametrize(
    ("n_rows", "n_checked", "n_found", "low", "high"),
    [
        # Nothing checked, nothing known.
        (10, 0, 0, 0, 10),
        # Everything checked: a census.
        (10, 10, 3, 3, 3),
        # None of 5 among 10. With 2 anomalies that happens in C(8,5)/C(10,5) = 56/252 = 22 % of draws, with 3 in
        # 21/252 = 8 %: at most 2.
        (10, 5, 0, 0, 2),
        (10, 5, 5, 8, 10),
        # One of 2 among 4. With 1 anomaly 3 of 6 draws find it, with 3 anomalies 3 of 6 find only one.
        (4, 2, 1, 1, 3),
        # One of 3 among 6. With 5 anomalies no draw of 3 has fewer than two; with 4, C(4,1) C(2,2) = 4 of 20 have one.
        (6, 3, 1, 1, 4),
    ],
)
def test_limits_at_a_risk_of_a_tenth(n_rows: int, n_checked: int, n_found: int, low: int, high: int) -> None:
    assert lowest_count(n_rows, n_checked, n_found, 0.1) == low
    assert highest_count(n_rows, n_checked, n_found, 0.1) == high


def test_a_large_population_gives_clopper_and_pearsons_limit() -> None:
    # None of 10: (1 - share)^10 = 0.1 at a share of 1 - 0.1^(1/10) = 0.2057.
    assert highest_count(10_000_000, 10, 0, 0.1) / 10_000_000 == pytest.approx(0.2057, abs=1e-4)


def test_a_bound_contains_its_ends() -> None:
    assert 0.2 in Bounds(0.3, 0.2, 0.4)
    assert 0.4 in Bounds(0.3, 0.2, 0.4)
    assert 0.41 not in Bounds(0.3, 0.2, 0.4)


def test_what_is_shown_is_rounded_outwards() -> None:
    shown = Bounds(0.1, 0.059, 0.141).round_outwards(0.01)
    assert (shown.low, shown.high) == pytest.approx((0.05, 0.15))
    exact = Bounds(0.1, 0.07, 0.29).round_outwards(0.01)
    assert (exact.low, exact.high) == pytest.approx((0.07, 0.29))


@pytest.mark.parametrize("counts", [(5, 6, 1), (5, 3, 4), (5, 3, -1)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        lowest_count(*counts, 0.1)


def chances(n_rows: int, n_checked: int, n_anomalies: int) -> np.ndarray:
    """The chance of each number found, by counting draws."""
    ways = [comb(n_anomalies, k) * comb(n_rows - n_anomalies, n_checked - k) for k in range(n_checked + 1)]
    return np.array(ways) / comb(n_rows, n_checked)


def limits(n_rows: int, n_checked: int, risk: float) -> np.ndarray:
    """Low and high (2, n_checked + 1) for each number found."""
    found = range(n_checked + 1)
    return np.array([[limit(n_rows, n_checked, k, risk) for k in found] for limit in (lowest_count, highest_count)])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.data(), st.sampled_from([0.05, 0.1, 0.2]))
def test_each_limit_fails_at_most_as_often_as_is_said(n_rows: int, data: st.DataObject, risk: float) -> None:
    n_checked = data.draw(st.integers(0, n_rows))
    low, high = limits(n_rows, n_checked, risk)
    for truth in range(n_rows + 1):
        odds = chances(n_rows, n_checked, truth)
        assert odds[low > truth].sum() <= risk + 1e-12
        assert odds[high < truth].sum() <= risk + 1e-12


@given(st.integers(0, 10_000), st.data())
def test_limits_contain_what_was_found(n_rows: int, data: st.DataObject) -> None:
    n_checked = data.draw(st.integers(0, min(n_rows, 50)))
    n_found = data.draw(st.integers(0, n_checked))
    low, high = lowest_count(n_rows, n_checked, n_found, 0.1), highest_count(n_rows, n_checked, n_found, 0.1)
    assert n_found <= low <= high <= n_rows - (n_checked - n_found)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 24), st.data(), st.sampled_from([0.05, 0.1]))
def test_one_more_label_never_widens_the_interval_in_expectation(n_rows: int, data: st.DataObject, risk: float) -> None:
    """Over every truth and every draw; at one truth the steps of whole rows may widen it by a part of one row."""
    n_checked = data.draw(st.integers(0, n_rows - 1))
    expected = []
    for n in (n_checked, n_checked + 1):
        low, high = limits(n_rows, n, risk)
        expected.append([float(chances(n_rows, n, truth) @ (high - low)) for truth in range(n_rows + 1)])
    fewer, more = np.array(expected)
    assert more.mean() <= fewer.mean() + 1e-12
    assert (more <= fewer + 1).all()
