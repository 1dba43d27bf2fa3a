from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from soel.report.charts import ALWAYS_SHOWN, bar_edges, item_map, score_histogram, shown_rows, training_curve
from soel.report.facts import AnsweredItem, PoolFacts, Threshold

MakePool = Callable[..., PoolFacts]


@example([1.0, 1.0 + 2e-16], 0.5)
@example([0.0, 1e-323], 0.5)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.floats(0.05, 0.95))
def test_one_edge_lies_on_the_threshold_and_all_scores_are_covered(values: list[float], part: float) -> None:
    scores = np.array(values)
    threshold = float(scores.min() + part * np.ptp(scores))
    edges = bar_edges(scores, threshold)
    slack = 1e-9 * max(1.0, float(np.abs(scores).max()))
    assert edges[0] <= scores.min() + slack
    assert edges[-1] >= scores.max() - slack
    if np.ptp(scores) > 1e-3:
        assert np.abs(edges - threshold).min() <= slack


def test_bars_count_every_item_once_and_split_at_the_threshold(make_pool: MakePool) -> None:
    below, above = score_histogram(make_pool(100), Threshold(9.05, "", 10)).traces[:2]
    assert sum(below["y"]) == 90
    assert sum(above["y"]) == 10


def test_a_long_tail_is_gathered_in_the_last_bar_and_said(make_pool: MakePool) -> None:
    scores = np.append(np.linspace(0, 1, 399), 1000.0)
    figure = score_histogram(make_pool(400, scores=scores), Threshold(0.9, "", 40))
    assert "also holds 1 score above" in figure.note
    assert max(figure.traces[1]["x"]) < 2
    assert sum(map(sum, (trace["y"] for trace in figure.traces[:2]))) == 400


@pytest.mark.parametrize("threshold", [float("inf"), -5.0, 50.0])
def test_a_threshold_outside_the_scores_is_drawn_only_if_it_is_a_number(make_pool: MakePool, threshold: float) -> None:
    layout = score_histogram(make_pool(50), Threshold(threshold, "", 0)).layout
    if np.isinf(threshold):
        assert "shapes" not in layout
    else:
        low, high = layout["xaxis"]["range"]
        assert low < layout["shapes"][0]["x0"] == threshold < high


def test_equal_scores_still_make_a_histogram(make_pool: MakePool) -> None:
    figure = score_histogram(make_pool(9, scores=np.full(9, 2.0)), Threshold(2.0, "", 0))
    assert sum(figure.traces[0]["y"]) + sum(figure.traces[1]["y"]) == 9


def test_ticks_stand_at_the_scores_of_labelled_items(make_pool: MakePool) -> None:
    normal, anomaly = score_histogram(make_pool(11), Threshold(9, "", 1)).traces[2:]
    assert (normal["x"], normal["text"]) == ([0.0], ["row-0"])
    assert (anomaly["x"], anomaly["text"]) == ([10.0], ["row-10"])


def test_a_large_pool_is_sampled_but_keeps_what_matters(make_pool: MakePool) -> None:
    pool = make_pool(5_000)
    rows = shown_rows(pool, np.arange(17, 57), np.random.default_rng(0), most=1_000)
    assert len(rows) == len(set(rows)) == 1_000
    assert {0, *range(17, 57), *range(5_000 - ALWAYS_SHOWN, 5_000)} <= set(rows.tolist())
    assert (np.diff(pool.scores[rows]) >= 0).all()


def test_a_small_pool_is_shown_whole(make_pool: MakePool) -> None:
    assert sorted(shown_rows(make_pool(30), np.array([], np.int64), np.random.default_rng(0))) == list(range(30))


def test_the_map_of_a_large_pool_says_how_much_it_shows(make_pool: MakePool) -> None:
    figure = item_map(make_pool(20_500), [], 0)
    assert len(figure.traces[0]["x"]) == 20_000
    assert "20,000 of 20,500 items" in figure.note


def test_queries_are_numbered_in_order_and_differ_in_shape(make_pool: MakePool) -> None:
    queries = [
        AnsweredItem("row-3", "anomaly", 1.0),
        AnsweredItem("row-1", "normal", 2.0),
        AnsweredItem("row-5", "anomaly", 3.0),
        AnsweredItem("row-2", "skipped", 1.0),
    ]
    normal, anomaly, skipped = item_map(make_pool(10), queries, 0).traces[1:]
    assert normal["text"] == ["2"]
    assert anomaly["text"] == ["1", "3"]
    assert skipped["text"] == ["4"]
    assert len({trace["marker"]["symbol"] for trace in (normal, anomaly, skipped)}) == 3


def test_a_query_marks_the_place_of_its_item(make_pool: MakePool) -> None:
    items, query = item_map(make_pool(10), [AnsweredItem("row-4", "normal", 1.0)], 0).traces
    at = items["text"].index("row-4")
    assert (query["x"][0], query["y"][0]) == (items["x"][at], items["y"][at])


def test_a_query_about_an_item_outside_the_pool_is_not_drawn(make_pool: MakePool) -> None:
    assert len(item_map(make_pool(10), [AnsweredItem("elsewhere", "normal", 1.0)], 0).traces) == 1


def test_the_curve_is_the_mean_and_the_band_spans_the_members() -> None:
    low, high, mean = training_curve([[3.0, 5.0], [1.0, 2.0]]).traces
    assert (low["y"], high["y"], mean["y"]) == ([3.0, 1.0], [5.0, 2.0], [4.0, 1.5])


def test_one_member_has_no_band() -> None:
    figure = training_curve([[3.0], [2.0]])
    assert len(figure.traces) == 1
    assert "band" not in figure.note
