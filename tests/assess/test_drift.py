"""Drift: none on rows like the pool's, found where it was planted, and the same in parts as at once."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import comb, exp, log

import numpy as np
import pandas as pd
import pytest

from soel import SOEL
from soel.assess.drift import AlarmCounts, Drift, _log_all_new, _log_p, judge_drift
from soel.tables.codes import ColumnCounts, add_tallies, tally_from_json, tally_json
from soel.tables.encoder import Encoder
from soel.tables.frame import read_frame

MOVED = np.array([0, 20, 0])
EQUAL = AlarmCounts(10, 1000, 10, 1000)


def draw(seed: int, n_rows: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "heat": rng.normal(size=n_rows),
            "site": rng.choice(["north", "south", "east"], n_rows),
            "flow": np.where(rng.random(n_rows) < 0.1, np.nan, rng.gamma(2, size=n_rows)),
            "pump": rng.choice([f"pump {at}" for at in range(60)], n_rows),
            "memo": ["checked " * rng.integers(1, 9) + str(at) for at in range(n_rows)],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n_rows), unit="h"),
            "unit": "bar",
        }
    )


def encoder_of(pool: pd.DataFrame) -> Encoder:
    frame = read_frame(pool)
    return Encoder.fit(frame, "standard").with_baseline(frame)


def judge(new: pd.DataFrame, alarms: AlarmCounts = EQUAL) -> Drift:
    encoder = encoder_of(draw(0))
    return judge_drift(encoder.baseline, encoder.tally(read_frame(new, schema=encoder.how)), alarms)


def drifted(drift: Drift) -> list[tuple[str, str | None]]:
    return [(finding.what, finding.column) for finding in drift.findings if finding.is_drift]


@pytest.mark.parametrize("seed", range(1, 9))
def test_rows_like_the_pools_are_quiet(seed: int) -> None:
    drift = judge(draw(seed))
    assert not drift.found
    assert drift.lines() == ["No drift detected."]


@pytest.mark.parametrize(
    ("column", "change", "what"),
    [
        ("heat", lambda cells: cells.where(np.arange(1000) % 20 > 0, 99.0), "range"),
        ("heat", lambda cells: cells.where(np.arange(1000) % 20 > 0, -99.0), "range"),
        ("heat", lambda cells: cells.clip(-2, 2).abs(), "shares"),
        ("heat", lambda cells: cells.where(np.arange(1000) % 20 > 0), "missing"),
        ("flow", lambda cells: cells.where(np.arange(1000) % 3 > 0), "missing"),
        ("site", lambda cells: cells.where(np.arange(1000) % 20 > 0, "west"), "categories"),
        ("site", lambda cells: cells.where(np.arange(1000) % 2 > 0, "north"), "shares"),
        ("site", lambda cells: [cell if at % 9 else f"{cell} {at}" for at, cell in enumerate(cells)], "categories"),
        ("pump", lambda cells: cells.where(np.arange(1000) % 4 > 0, "a new one"), "categories"),
        ("memo", lambda cells: cells.str[:12], "shares"),
        ("unit", lambda cells: cells.where(np.arange(1000) % 20 > 0, "psi"), "categories"),
    ],
)  # fmt: skip
def test_what_is_planted_is_found_and_named(column: str, change: object, what: str) -> None:
    new = draw(1)
    new[column] = change(new[column])  # type: ignore[operator]
    found = drifted(judge(new))
    assert found == [(what, column if column != "memo" else "memo (length)")]


def test_a_few_rows_out_of_range_are_told_but_are_no_drift() -> None:
    new = draw(1)
    new.loc[3, "heat"] = 50.0
    drift = judge(new)
    assert not drift.found
    (told,) = [each for each in drift.findings if each.what == "range" and each.column == "heat" and each.n_rows]
    assert (told.n_rows, "3 rows (0.3 %) above the pool's range" in told.text) == (3, True)
    assert "as far as 50" in told.text


def test_later_days_are_no_drift() -> None:
    new = draw(1)
    new["day"] += pd.Timedelta(days=400)
    drift = judge(new)
    assert not drift.found
    last = "Not drift: day: 1,000 rows (100 %) after the pool's last time, 2024-02-11 15:00:00"
    assert drift.lines() == ["No drift detected.", last]


def test_alarms_against_what_the_pool_raises() -> None:
    drift = judge(draw(1), AlarmCounts(583, 583, 20, 1000))
    assert drifted(drift) == [("alarms", None)]
    assert drift.lines()[1] == "  alarms: 583 of 583 rows (100 %) lie above the pool's threshold, 2 % of the pool do"
    assert not judge(draw(1), AlarmCounts(30, 1000, 20, 1000)).found


def test_a_model_that_does_not_know_the_pool_counts_alarms_only() -> None:
    drift = judge_drift(None, None, AlarmCounts(500, 1000, 20, 1000))
    assert (drift.found, drift.columns_known) == (True, False)
    assert judge_drift(None, None, EQUAL).lines() == ["No drift detected in the share of alarms."]


def test_parts_together_are_the_whole() -> None:
    encoder, new = encoder_of(draw(0)), draw(3)
    whole = encoder.tally(read_frame(new, schema=encoder.how))
    parts = [encoder.tally(read_frame(part, schema=encoder.how)) for part in (new[:100], new[100:])]
    assert add_tallies(*parts) == whole
    assert add_tallies(parts[0], None) is None
    assert whole is not None
    assert tally_from_json(json.loads(json.dumps(tally_json(whole)))) == whole


def test_the_pool_is_kept_with_the_encoder() -> None:
    encoder = encoder_of(draw(0))
    assert Encoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder


def test_steps_worked_by_hand() -> None:
    pool = pd.DataFrame({"x": [0.0, 0.0, 1.0, 2.0, 4.0]})
    encoder = encoder_of(pool)
    assert encoder.baseline is not None
    assert encoder.baseline["x"].edges == (0, 0, 1, 2, 4)
    assert encoder.baseline["x"].pool == ColumnCounts(5, 0, (0, 2, 1, 1, 1, 0), 0, 4)
    counts = (encoder.tally(read_frame(pd.DataFrame({"x": [-1.0, 0.0, 1.5, 4.0, 5.0, np.nan]}))) or {})["x"]
    assert counts == ColumnCounts(6, 1, (1, 1, 0, 1, 1, 1), -1, 5)


def test_the_p_value_of_extremes_that_are_all_new_by_counting() -> None:
    # of 10 rows, 4 are new: the 2 largest are both new in C(8, 2) of C(10, 4) ways
    assert exp(_log_all_new(2, 4, 6)) == pytest.approx(comb(8, 2) / comb(10, 4))


@pytest.mark.parametrize(("k", "n", "was", "n_pool"), [(9, 20, 2, 30), (5, 5, 0, 40), (30, 50, 20, 100)])
def test_the_bound_is_never_below_the_exact_p_value(k: int, n: int, was: int, n_pool: int) -> None:
    total, marked = n + n_pool, k + was
    ways = sum(comb(marked, at) * comb(total - marked, n - at) for at in range(k, min(n, marked) + 1))
    assert log(ways / comb(total, n)) <= _log_p(k, n, was, n_pool) < 0


def test_the_estimator_says_it_too(tmp_path: object) -> None:
    rows = np.random.default_rng(0).normal(size=(400, 3))
    detector = SOEL(random_state=0).fit(rows[:200])
    assert not detector.drift(rows[200:]).found
    drift = detector.drift(rows[200:] + MOVED)
    assert ("range", "x1") in drifted(drift)
    assert ("alarms", None) in drifted(drift)
    detector.save(f"{tmp_path}/model")
    assert SOEL.load(f"{tmp_path}/model").drift(rows[200:] + MOVED) == drift
    assert asdict(drift)["n_rows"] == 200
