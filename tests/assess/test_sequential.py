"""The test of the alarm rate holds its level however often it is looked at, and notices changes soon."""

from __future__ import annotations

import numpy as np
import pytest

from soel.assess.sequential import FEWER, MORE, Counts, judge_rate

POOL, N = Counts(25, 500), 2000


def run(rates: np.ndarray, seed: int) -> list[Counts]:
    rng = np.random.default_rng(seed)
    return [Counts(int(rng.binomial(N, rate)), N) for rate in rates]


def first_rejected(nights: list[Counts]) -> int | None:
    return next((t for t in range(1, len(nights) + 1) if judge_rate(POOL, nights[:t]).is_rejected), None)


def test_an_unchanged_rate_is_rarely_rejected_in_a_quarter_of_looks() -> None:
    tests = [judge_rate(POOL, run(np.full(90, 0.05), seed)) for seed in range(200)]  # the worst of 90 looks
    assert sum(test.is_rejected for test in tests) <= 10


@pytest.mark.parametrize(("times", "within"), [(2.0, 2), (0.4, 3), (1.5, 6)])
def test_a_change_late_in_the_quarter_is_noticed_within_nights(times: float, within: int) -> None:
    rates = np.where(np.arange(90) < 60, 0.05, 0.05 * times)
    found = [first_rejected(run(rates, seed)) for seed in range(10)]
    assert all(at is not None and 60 < at <= 60 + within for at in found)


def test_the_direction_is_said() -> None:
    more, fewer = (judge_rate(POOL, run(np.where(np.arange(20) < 8, 0.05, rate), 0)) for rate in (0.2, 0.001))
    assert more.is_rejected
    assert more.is_more
    assert fewer.is_rejected
    assert not fewer.is_more


def test_the_first_nights_say_what_is_usual() -> None:
    nights = run(np.full(30, 0.09), 1)  # the pool's own rows were known by heart: new ones raise more alarms
    assert not judge_rate(POOL, nights).is_rejected
    assert judge_rate(POOL, nights).usual[0] > 0.08


def test_first_nights_far_from_the_pool_are_rejected() -> None:
    assert judge_rate(POOL, run(np.full(3, 0.4), 0)).is_rejected


def test_wealth_of_one_night_by_hand() -> None:
    """Half of all waits for late nights, half of the rest for later starts, and the rates share what is left."""
    test = judge_rate(POOL, [Counts(9, 20)])
    low, high = test.usual

    def bet(q: float, p: float) -> float:
        return float((q / p) ** 9 * ((1 - q) / (1 - p)) ** 11)

    more = np.mean([bet(times * high, high) for times in MORE if times * high < 1])
    fewer = np.mean([bet(max(times * low, 1e-7), low) for times in FEWER])
    expected = np.mean([(1 + (1 + side) / 2) / 2 for side in (more, fewer)])
    assert test.evidence == pytest.approx(expected)
    assert test.is_more
    assert judge_rate(POOL, []).evidence == 1.0
