"""Real alarms and calibration error, by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.promises.real_alarms import WORTH, calibration_error, real_alarms
from hypothesis import given, strategies as st
from scipy.stats import betabinom

from soel.assess.quality import Bounds


def test_real_alarms_by_hand() -> None:
    # Worth three labels at a third: Beta(1, 2), so 0 to 9 real ones have 10, 9, ... 1 of 55 parts. None: 10 of 55 are
    # more than a tenth. Up to 6: 49 of 55, less than nine tenths; up to 7: 52, more.
    found, more = real_alarms(np.full(9, 1 / 3)), real_alarms(np.full(9, 1 / 3), n_known=3)
    assert (found.low, found.high, more.low, more.high) == (0, 7, 3, 10)
    assert (found.value, more.value) == pytest.approx((3, 6))
    assert real_alarms(np.zeros(0), n_known=2) == Bounds(2, 2, 2)


@given(st.integers(1, 300), st.floats(0.01, 0.99), st.sampled_from([0.5, 0.8, 0.95]))
def test_ends_are_quantiles_of_a_beta_binomial(n: int, mean: float, coverage: float) -> None:
    found, law = real_alarms(np.full(n, mean), 0, coverage), betabinom(n, WORTH * mean, WORTH * (1 - mean))
    risk = (1 - coverage) / 2
    assert law.cdf(found.low) >= risk - 1e-9
    assert law.cdf(found.low - 1) <= risk + 1e-9
    assert law.cdf(found.high) >= 1 - risk - 1e-9
    assert 0 <= found.low <= found.high <= n


def test_calibration_error_by_hand() -> None:
    # The first bin: 0.05 twice, none real: a gap of 0.1. The last: 0.95 and 1, one real: 0.95. Of four rows.
    error = calibration_error(np.array([False, False, True, False]), np.array([0.05, 0.05, 0.95, 1.0]))
    assert error == pytest.approx((0.1 + 0.95) / 4)
    assert calibration_error(np.array([True, False]), np.array([0.5, 0.5])) == 0


def test_probabilities_at_their_ends_leave_no_doubt() -> None:
    none, all_real = real_alarms(np.zeros(5)), real_alarms(np.ones(5), n_known=2)
    assert (none.low, none.high, all_real.low, all_real.high) == (0, 0, 7, 7)
    assert (none.value, all_real.value) == pytest.approx((0.005, 6.995))


def test_a_tenth_belongs_to_the_second_bin() -> None:
    assert calibration_error(np.array([True, False]), np.array([0.05, 0.1])) == pytest.approx((0.95 + 0.1) / 2)
    assert calibration_error(np.array([True, False]), np.array([0.1, 0.15])) == pytest.approx((0.9 - 0.15) / 2)
