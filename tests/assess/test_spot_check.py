"""Figures of a spot check, worked by hand and by drawing many."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from soel.assess.quality import (
    Bounds,
    SpotCheck,
    Stratum,
    allocate,
    draw_check,
    highest_count,
    lowest_count,
    widest_intervals,
)


def test_figures_by_hand() -> None:
    # 8 alarms, of which 2 were asked and are anomalies, and 3 of the other 6 were drawn: 3 anomalies.
    # 12 others, of which 2 were asked and are normal, and 5 of the other 10 were drawn: none.
    check = SpotCheck(Stratum(8, 2, 2, 3, 3), Stratum(12, 2, 0, 5, 0))
    quality = check.quality(0.8)
    # 3 of 3 among 6 at a risk of a tenth: with 3 anomalies C(3,3)/20 = 5 %, with 4: 4/20 = 20 %: at least 4.
    assert quality.real_alarms == Bounds(8, 2 + 4, 8)
    assert quality.precision == Bounds(1, 6 / 8, 1)
    assert quality.false_alarms == Bounds(0, 0, 100)  # at most 2 in 20 rows
    # Recall shares its risk: a twentieth each. Alarms: with 3 anomalies exactly 5 %, so no fewer than 4 hold; others:
    # none of 5 among 10 with 3 anomalies 21/252 = 8 %, with 4: C(6,5)/252 = 2 %: at most 3.
    assert quality.recall == Bounds(1, 6 / (6 + 3), 1)
    # Share: spreads 6/sqrt(3) = 3.46 and 10/sqrt(5) = 4.47, so 44 and 56 % of the tenth. Alarms: at least 4 (5 % is
    # above 4.4 %, so even 3: C(3,3)/20 = 5 % > 4.4 %). Others: 8 % above 5.6 %: at most 3.
    assert quality.share.value == pytest.approx(8 / 20)
    assert quality.share.low == pytest.approx((2 + 3) / 20)
    assert quality.share.high == pytest.approx((8 + 3) / 20)
    assert (quality.n_checked, quality.n_rows, quality.n_alarms) == (8, 20, 8)


def test_nothing_checked_says_nothing_but_what_is_known() -> None:
    quality = SpotCheck(Stratum(10, 4, 3), Stratum(90, 6, 1)).quality()
    assert (quality.share.low, quality.share.high) == pytest.approx((0.04, 0.94))
    assert quality.precision is not None
    assert (quality.precision.low, quality.precision.high) == pytest.approx((0.3, 0.9))


def test_probabilities_are_held_against_the_check_by_hand() -> None:
    # As above: 6 to 8 alarms are real, 2 of them known before; none of 5 among 10 others at a risk of a tenth: with 2
    # anomalies C(8,5)/252 = 22 %, with 3: 8 %: at most 2.
    for expected, judgement in ((2.0, "too low"), (3.6, "right"), (5.9, "right")):
        quality = SpotCheck(Stratum(8, 2, 2, 3, 3, expected), Stratum(12, 2, 0, 5, 0)).quality()
        assert (quality.promised_alarms, quality.alarms_judgement) == (2 + expected, judgement)
        assert (quality.promised_missed, quality.missed_judgement) == (None, None)
    for expected, judgement in ((0.0, "right"), (2.4, "right"), (2.6, "too high")):
        quality = SpotCheck(Stratum(8, 2, 2, 3, 3), Stratum(12, 2, 0, 5, 0, expected)).quality()
        assert quality.missed == Bounds(0, 0, 2)
        assert (quality.promised_missed, quality.missed_judgement) == (expected, judgement)


def test_what_probabilities_promise_is_the_sum_over_what_could_be_drawn() -> None:
    is_alarm, before = np.arange(6) < 3, np.array([1, -1, -1, 0, -1, -1], np.int8)
    labels, chances = np.array([1, 1, -1, 0, 0, -1], np.int8), np.array([0.9, 0.75, 0.5, 0.3, 0.25, 0.125])
    check = SpotCheck.of(is_alarm, before, np.array([1, 4]), labels, chances)
    assert (check.alarms.promised, check.others.promised) == (1 + 1.25, 0.375)
    assert SpotCheck.of(is_alarm, before, np.array([1, 4]), labels).alarms.promised is None


@pytest.mark.parametrize(
    ("n", "n_alarms", "n_others", "expected"),
    [(10, 50, 450, (4, 6)), (10, 2, 450, (2, 8)), (10, 50, 3, (7, 3)), (10, 0, 450, (0, 10)), (10, 2, 3, (2, 3))],
)
def test_where_checks_go(n: int, n_alarms: int, n_others: int, expected: tuple[int, int]) -> None:
    assert allocate(n, n_alarms, n_others) == expected


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_every_interval_holds_as_often_as_is_said(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    n_alarms = int(rng.integers(1, 40))
    truth = rng.random(200) < np.where(np.arange(200) < n_alarms, rng.random(), 0.1 * rng.random())
    asked = rng.random(200) < 0.1
    held = np.mean([_held(truth, asked, n_alarms, n, rng) for _ in range(200)], axis=0)
    assert (held >= 0.8 - 0.12).all(), held  # four standard errors of 200 draws


def _held(truth: np.ndarray, asked: np.ndarray, n_alarms: int, n: int, rng: np.random.Generator) -> list[bool]:
    is_alarm = np.arange(len(truth)) < n_alarms
    before = np.where(asked, truth, -1).astype(np.int8)
    rows = draw_check(is_alarm, np.flatnonzero(~asked), n, rng).rows[:n]
    quality = SpotCheck.of(is_alarm, before, rows, truth.astype(np.int8)).quality()
    hits, total = int((truth & is_alarm).sum()), int(truth.sum())
    assert quality.precision is not None
    return [
        truth.mean() in quality.share,
        hits in quality.real_alarms,
        hits / n_alarms in quality.precision,
        (hits / total if total else 1.0) in quality.recall,
        1000 * (n_alarms - hits) / len(truth) in quality.false_alarms,
    ]


def test_how_wide_a_check_can_be_by_hand() -> None:
    # 4 open alarms, 2 of them checked, at a risk of a tenth. None found: two of four are still likely (1 of 6 draws),
    # three are not: 0 to 2. One found: 1 to 3. Two found: 2 to 4. So the range of real alarms is 2 of 5 wide at most,
    # the fifth is known. The others are all known: the share hangs on the alarms alone, and they get all the risk.
    share, precision = widest_intervals(2, Stratum(5, 1, 1), Stratum(15, 15, 0))
    assert precision == pytest.approx(2 / 5)
    assert share == pytest.approx(2 / 20)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 20), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_no_check_is_wider_than_was_foreseen(n: int, n_alarms: int, n_others: int, seed: int) -> None:
    n = min(n, n_alarms + n_others)
    rng = np.random.default_rng(seed)
    truth = rng.random(n_alarms + n_others) < rng.random()
    is_alarm, before = np.arange(len(truth)) < n_alarms, np.full(len(truth), -1, np.int8)
    if not len(truth):
        return
    share, precision = widest_intervals(n, Stratum(n_alarms), Stratum(n_others))
    rows = draw_check(is_alarm, np.arange(len(truth)), n, rng).rows[:n]
    quality = SpotCheck.of(is_alarm, before, rows, truth.astype(np.int8)).quality()
    assert quality.share.high - quality.share.low <= share + 1e-9
    if quality.precision is not None:
        assert quality.precision.high - quality.precision.low <= precision + 1e-9


def test_what_is_drawn_by_hand() -> None:
    is_alarm, open_rows = np.arange(100) < 20, np.arange(5, 95)  # 15 alarms and 75 others are open
    found = draw_check(is_alarm, open_rows, 10, np.random.default_rng(0))
    assert len(found.rows) == len(set(found.rows.tolist())) == 30, "two can step in for each"
    assert set(found.rows.tolist()) <= set(open_rows.tolist())
    assert is_alarm[found.rows[:10]].sum() == 4
    assert is_alarm[found.rows].sum() == 12
    np.testing.assert_allclose(found.odds, np.where(is_alarm[found.rows], 4 / 15, 6 / 75))


def test_every_row_is_drawn_as_often_as_its_odds_say_and_anywhere_in_the_order() -> None:
    rng, is_alarm, n_draws = np.random.default_rng(0), np.arange(30) < 6, 2000
    drawn = np.array([draw_check(is_alarm, np.arange(30), 5, rng).rows[:5] for _ in range(n_draws)])
    odds = np.where(is_alarm, 2 / 6, 3 / 24)
    error = np.sqrt(odds * (1 - odds) / n_draws)
    assert (np.abs(np.bincount(drawn.ravel(), minlength=30) / n_draws - odds) < 5 * error).all()
    assert (np.abs(is_alarm[drawn].mean(axis=0) - 0.4) < 5 * np.sqrt(0.24 / n_draws)).all()


def test_what_nobody_looked_at_is_half_and_what_all_is_known_is_a_count() -> None:
    assert Stratum(10, 4, 3).count == 3 + 6 / 2
    known = SpotCheck(Stratum(4, 4, 1), Stratum(6, 6, 2)).quality()
    assert (known.share, known.recall) == (Bounds(0.3, 0.3, 0.3), Bounds(1 / 3, 1 / 3, 1 / 3))
    assert SpotCheck(Stratum(4, 4, 0), Stratum(6, 6, 0)).quality().recall == Bounds(1, 1, 1), "none was missed"


def test_an_answer_that_was_taken_back_is_not_known() -> None:
    before, labels = np.array([1, 1, -1, 0], np.int8), np.array([-1, 1, 1, -1], np.int8)
    check = SpotCheck.of(np.array([True, True, True, False]), before, np.array([2]), labels)
    assert check == SpotCheck(Stratum(3, 1, 1, 1, 1), Stratum(1))


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


def test_what_is_shown_is_rounded_outwards() -> None:
    shown = Bounds(0.1, 0.059, 0.141).round_outwards(0.01)
    assert (shown.low, shown.high) == pytest.approx((0.05, 0.15))
    exact = Bounds(0.1, 0.07, 0.29).round_outwards(0.01)
    assert (exact.low, exact.high) == pytest.approx((0.07, 0.29))


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


def test_what_wrong_answers_can_have_done_by_hand() -> None:
    """With a tenth of the answers wrong, 0.1 of them say anomaly where none is, and 0.9 where all are."""
    assert Bounds(0.1, 0.1, 0.3).allowing(0.1) == Bounds(0.1, 0.0, 0.3)
    assert Bounds(0.8, 0.7, 0.9).allowing(0.1) == Bounds(0.8, 0.7, 1.0)
    assert Bounds(0.5, 0.3, 0.7).allowing(0.0) == Bounds(0.5, 0.3, 0.7)


@pytest.mark.parametrize("precision", [0.03, 0.3, 0.9])
def test_an_interval_that_allows_for_wrong_answers_holds_as_often_as_is_said(precision: float) -> None:
    rng, wrong, n_alarms, held = np.random.default_rng(0), 0.05, 1000, dict.fromkeys((0.0, 0.05), 0)
    for _ in range(300):
        real = rng.permutation(n_alarms) < precision * n_alarms
        answers = real[rng.permutation(n_alarms)[:120]] ^ (rng.random(120) < wrong)
        check = SpotCheck(Stratum(n_alarms, n_checked=120, n_found=int(answers.sum())), Stratum(9000))
        said = check.quality().precision
        assert said is not None
        for allowed in held:
            held[allowed] += float(real.mean()) in said.allowing(allowed)
    assert held[0.05] / 300 > 0.8
    assert precision != 0.03 or held[0.0] / 300 < 0.5, "a low precision is moved by wrong answers"
