"""Real alarms and calibration error, by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom

from soel.quality import Bounds
from soel.quality.alarms import WORTH, calibration_error, real_alarms


def test_real_alarms_by_hand() -> None:
    # Beta(1, 1): every count from 0 to 9 is as likely as any other, a tenth each: 0 to 8 hold nine tenths.
    assert real_alarms(np.full(9, 0.5)) == Bounds(4.5, 0, 8)
    assert real_alarms(np.full(9, 0.5), n_known=3) == Bounds(7.5, 3, 11)
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
