"""What page and report share: strips, histograms, the map's sample."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from soel.assess.threshold import NEVER
from soel.report.facts import ALWAYS_SHOWN
from soel.report.view import Alarms, Histogram, InCommon, Strip
from soel.session import SessionState
from soel.types import Label
from tests.report.conftest import make_map

NO_LABELS = np.full(400, -1, np.int8)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50), st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_law_a_strip_holds_both_values(column: list[float], value: float, usual: float) -> None:
    strip = Strip.of(np.array([*column, np.nan]), value, usual)
    assert strip is not None
    assert strip.mark is not None
    assert strip.usual is not None
    assert 0 <= min(strip.mark, strip.usual) <= max(strip.mark, strip.usual) <= 1
    assert (strip.mark < strip.usual) <= (value < usual)
    assert max(strip.bars) == 1
    assert min(strip.bars) >= 0


def test_what_is_missing_has_no_place_on_a_strip() -> None:
    strip = Strip.of(np.array([1.0, 2.0]), np.nan, 2.0)
    assert strip is not None
    assert (strip.mark, strip.usual) == (None, 1.0)
    assert Strip.of(np.array([np.nan]), 1.0) is None


@example([1.0, 1.0 + 2e-16], 0.5)
@example([0.0, 1e-323], 0.5)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(-1.0, 2.0))
def test_law_a_histogram_covers_all_scores_and_its_line_is_on_it(values: list[float], part: float) -> None:
    scores = np.array(values)
    drawn = Histogram.of(scores, NO_LABELS[: len(scores)], float(scores.min() + part * np.ptp(scores)))
    assert drawn.low <= scores.min() <= scores.max() <= drawn.highest
    assert drawn.low < drawn.high
    assert max(drawn.heights) == 1
    assert drawn.line is not None
    assert 0 <= drawn.line <= 1


def test_a_long_tail_is_gathered_in_the_last_bar() -> None:
    scores = np.append(np.linspace(0, 1, 399), 1000.0)
    drawn = Histogram.of(scores, NO_LABELS, 0.9)
    assert drawn.high < 2 < drawn.highest == 1000
    assert drawn.heights[-1] > 0
    assert drawn.line == pytest.approx(0.9 / drawn.high, abs=1e-5)


def test_a_threshold_above_every_score_has_no_line() -> None:
    assert Histogram.of(np.arange(400.0), NO_LABELS, NEVER).line is None


def test_high_bars_are_shortened_so_that_one_item_is_seen() -> None:
    drawn = Histogram.of(np.append(np.zeros(5000), np.arange(1.0, 30.0)), np.full(5029, -1), 20.0)
    assert drawn.is_log
    assert min(height for height in drawn.heights if height) > 0.05


def test_ticks_stand_at_the_scores_of_labelled_items() -> None:
    drawn = make_map(11)
    assert Histogram.of(drawn.scores, drawn.labels, 9.0).ticks == (("anomaly", 1.0), ("normal", 0.0))


def test_golden_of_what_alarms_have_in_common() -> None:
    rule = {"conditions": [{"column": "area", "sign": "≥", "value": "900.5"}], "n_hits": 3, "n_met": 4}
    alike: dict[str, Any] = {"groups": [["area", "radius"], ["site"]], "items": ["a", "b", "c"], "rule": None}
    kept = {"n_explained": 100, "n_alarms": 120, "n_whole": 1, "groups": [[["area", "radius"], 7]]}
    kept["patterns"] = [alike, alike | {"items": ["b", "x"], "rule": rule}]
    state = cast(SessionState, SimpleNamespace(labels={"b": Label.ANOMALY, "y": Label.NORMAL}))
    found = InCommon.of(Alarms((), state, None, {"patterns": kept}, "row {}".format, {}))
    assert found.words[0].startswith("Looked at: 100 of 120 alarms")
    assert found.words[1].startswith("1 of them is unusual as a whole")
    assert found.groups == ("area (2 columns): in 7 alarms",)
    assert found.patterns == (
        "area (2 columns), site: 3 alarms, such as row a; labelled anomaly: 1, normal: 0",
        "area (2 columns), site: 2 alarms, such as row b; 3 of the 4 rows with area ≥ 900.5; "
        "labelled anomaly: 1, normal: 0",
    )
    assert InCommon.of(Alarms((), state, None, {"patterns": kept | {"n_alarms": 0}}, str, {})) == InCommon()


def test_a_large_pool_is_sampled_but_keeps_what_matters() -> None:
    drawn = make_map(5_000)
    rows = drawn.shown(np.random.default_rng(0), most=1_000)
    assert len(rows) == len(set(rows)) == 1_000
    assert {0, *range(5_000 - ALWAYS_SHOWN, 5_000)} <= set(rows.tolist())
    assert (np.diff(drawn.scores[rows]) >= 0).all()
    assert sorted(make_map(30).shown(np.random.default_rng(0))) == list(range(30))
