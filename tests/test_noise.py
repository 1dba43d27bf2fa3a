"""Noise keyed by seed, draw and row."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from scipy.stats import gumbel_r, kstest

from soel.numeric import BITS, gumbel, noise, random_bits, uniform


def test_it_is_what_it_was_in_every_release() -> None:
    """Sessions store what was drawn with it: another noise would make every replay differ."""
    np.testing.assert_array_equal(
        random_bits(3, 1, np.arange(3)), [3302337843662573, 1571972625699894, 3246482166164210]
    )
    assert gumbel(0, 0, np.array([0]))[0] == -0.4662735186548662


def test_it_is_gumbel_s_and_rows_and_draws_are_independent() -> None:
    n = 20_000
    one, other = gumbel(0, 0, np.arange(n)), gumbel(0, 1, np.arange(n))
    assert kstest(one, gumbel_r.cdf).pvalue > 0.001
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(n)
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 4 / np.sqrt(n)


def test_uniform_numbers_never_reach_their_ends() -> None:
    most = np.uint64(2**BITS - 1)
    assert 0 < float(uniform(np.uint64(0))) < 2**-52
    assert 1 - 2**-52 < float(uniform(most)) < 1
    assert np.isfinite(noise(np.array([0, most], np.uint64))).all()


def plain(x: int) -> int:
    """Splitmix64's finaliser in whole numbers."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> shift)) * factor % 2**64
    return x ^ (x >> 31)


@given(st.integers(0, 2**63), st.integers(0, 2**32), st.integers(0, 2**62))
def test_luck_is_splitmix_of_the_row_with_the_key_of_seed_and_draw(seed: int, draw: int, row: int) -> None:
    step = 0x9E3779B97F4A7C15
    key = plain((plain((draw + step) % 2**64) + seed) % 2**64)
    assert int(random_bits(seed, draw, np.array([row]))[0]) == plain((row * step + key) % 2**64) >> 12
