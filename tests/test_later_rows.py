"""The same rows with later dates: a date by itself makes no alarm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from soel import SOEL


def readings(seed: int, n: int = 600) -> pd.DataFrame:
    """Daily readings; in one of twenty the pressure does not follow the heat. The date tells nothing."""
    rng = np.random.default_rng(seed)
    heat = rng.normal(60, 5, n)
    table = pd.DataFrame(
        {
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 60, n), unit="D"),
            "heat": heat,
            "pressure": heat / 10 + rng.normal(0, 0.1, n),
            "flow": rng.gamma(3, size=n),
            "site": rng.choice(["north", "south", "east"], n),
        }
    )
    wrong = rng.choice(n, n // 20, replace=False)
    table.loc[wrong, "pressure"] += rng.choice([-1, 1], len(wrong)) * rng.uniform(1, 3, len(wrong))
    return table


@pytest.mark.parametrize("in_order", [True, False])
def test_the_same_rows_weeks_and_months_later_raise_as_many_alarms(in_order: bool) -> None:
    """42 days later they have the same weekdays, 90 days later others: near-copies of the pool's rows."""
    pool = readings(0).sort_values("when", ignore_index=True) if in_order else readings(0)
    detector = SOEL(random_state=0).fit(pool)

    def alarms(rows: pd.DataFrame, days: int) -> int:
        later = rows.assign(when=rows["when"] + pd.Timedelta(days=days))
        return int((detector.anomaly_score(later) > detector.threshold_).sum())

    right, fresh = alarms(pool, 0), readings(1).sort_values("when", ignore_index=True) if in_order else readings(1)
    assert right == 60
    for days in (42, 90):
        assert abs(alarms(pool, days) - right) <= 12
        assert abs(alarms(fresh, days) - right) <= 20
