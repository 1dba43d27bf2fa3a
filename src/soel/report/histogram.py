"""The histogram of scores with the threshold and a tick for every labelled item."""

from __future__ import annotations

from html import escape

import numpy as np

from soel.report.facts import PoolFacts, Threshold
from soel.report.plots import INK, MARKS, Figure, Json, axis, layout, plain
from soel.text import count, number
from soel.types import LABEL_WORDS, Floats

MOST_BARS = 60
LONG_TAIL = 3.0  # a tail this many times as long as the rest is gathered in the last bar
TALL = 200  # from this bar height on a logarithmic axis keeps the small bars visible


def score_histogram(pool: PoolFacts, threshold: Threshold) -> Figure:
    """How the scores lie, where the alarm starts and what the labelled items score."""
    scores = np.asarray(pool.scores, np.float64)
    end = _end(scores, threshold.value)
    edges = bar_edges(np.minimum(scores, end), threshold.value)
    heights = np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0]
    span = _span(edges, threshold.value)
    return Figure(
        "scores",
        [*_bars(edges, heights, threshold.value), *_ticks(pool, end)],
        layout(
            xaxis=axis("score (higher is more anomalous)", showgrid=False, range=span, anchor="y2"),
            yaxis=_count_axis(int(heights.max())),
            yaxis2=_tick_axis(),
            barmode="overlay",
            **_line(threshold.value, span),
        ),
        _alternative(pool, threshold),
        _note(scores, end),
    )


def bar_edges(scores: Floats, threshold: float) -> Floats:
    """Edges of equal bars of which one lies on the threshold, so that no bar is half an alarm."""
    low, high = float(scores.min()), float(scores.max())
    largest = max(abs(low), abs(high), 1e-290)
    if high - low <= 1e-12 * largest:  # equal but for rounding: too narrow to divide
        pad = max(0.5, 1e-6 * largest)
        low, high = low - pad, high + pad
    bars = int(np.clip(np.ceil(4 * len(scores) ** (1 / 3)), 12, MOST_BARS))
    width = (high - low) / bars
    start = low
    if low < threshold < high:
        start = threshold - np.ceil((threshold - low) / width) * width
        bars = int(np.floor((high - start) / width)) + 1
    return np.asarray(start + width * np.arange(bars + 1))


def _end(scores: Floats, threshold: float) -> float:
    """Where the axis ends: the highest score, or earlier where a few scores would squeeze all others."""
    low, most, top = (float(value) for value in np.quantile(scores, (0, 0.99, 1)))
    body = max(most, threshold) if np.isfinite(threshold) else most
    return top if top - low <= LONG_TAIL * (body - low) or body <= low else low + 1.15 * (body - low)


def _count_axis(highest: int) -> Json:
    if highest <= TALL:
        return axis("items", domain=[0.24, 1])
    decades = [-0.3, float(np.log10(highest)) + 0.15]  # starts below 1, so that one item is seen
    return axis("items (log scale)", domain=[0.24, 1], type="log", range=decades, dtick=1)


def _tick_axis() -> Json:
    words: Json = {"tickvals": [0, 1], "ticktext": ["normal", "anomaly"]}
    return axis(domain=[0, 0.18], range=[-0.6, 1.6], showgrid=False, fixedrange=True, **words)


def _span(edges: Floats, threshold: float) -> list[float]:
    ends = [float(edges[0]), float(edges[-1])]
    if np.isfinite(threshold):
        ends.append(threshold)
    low, high = min(ends), max(ends)
    pad = 0.02 * (high - low)
    return [low - pad, high + pad]


def _bars(edges: Floats, heights: Floats, threshold: float) -> list[Json]:
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    traces: list[Json] = []
    for name, chosen, colour in (
        ("below the threshold", middles <= threshold, "--bar"),
        ("above the threshold", middles > threshold, "--alarm"),
    ):
        traces.append(
            {
                "type": "bar",
                "name": name,
                "x": plain(middles[chosen]),
                "y": [int(height) for height in heights[chosen]],
                "width": width,
                "marker": {"color": colour, "line": {"width": 1, "color": "--surface"}},
                "hovertemplate": "score about %{x:.4g}<br>%{y} items<extra></extra>",
            }
        )
    return traces


def _ticks(pool: PoolFacts, end: float) -> list[Json]:
    traces: list[Json] = []
    for height, word in enumerate(("normal", "anomaly")):
        rows = np.flatnonzero(pool.labels == LABEL_WORDS[word])
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"labelled {word}",
                "showlegend": False,
                "yaxis": "y2",
                "x": plain(np.minimum(pool.scores[rows], end)),
                "y": [height] * len(rows),
                "text": [escape(str(pool.ids[row]), quote=False) for row in rows.tolist()],
                "customdata": plain(pool.scores[rows]),
                "marker": {"symbol": "line-ns", "size": 13, "line": {"width": 2, "color": MARKS[word][1]}},
                "hovertemplate": f"%{{text}}<br>{word}, score %{{customdata:.4g}}<extra></extra>",
            }
        )
    return traces


def _line(threshold: float, span: list[float]) -> Json:
    """The threshold as a line with its value beside it, on the side that has room."""
    if not np.isfinite(threshold):
        return {}
    right = threshold > (span[0] + span[1]) / 2
    place = {"xref": "x", "yref": "paper"}
    line = {"color": INK, "width": 1.5, "dash": "dash"}
    words = {"text": f"threshold {number(threshold)}", "showarrow": False, "bgcolor": "--surface"}
    side = {"xanchor": "right" if right else "left", "xshift": -6 if right else 6, "yanchor": "top"}
    return {
        "shapes": [{"type": "line", "x0": threshold, "x1": threshold, "y0": 0, "y1": 1, "line": line, **place}],
        "annotations": [{"x": threshold, "y": 1, **words, **side, **place}],
    }


def _alternative(pool: PoolFacts, threshold: Threshold) -> str:
    low, middle, high = (number(value) for value in np.quantile(pool.scores, (0, 0.5, 1)))
    counts = [
        count(int((pool.labels == code).sum()), f"labelled {word}") for word, code in list(LABEL_WORDS.items())[:2]
    ]
    return (
        f"Histogram: {count(len(pool), 'score')} from {low} to {high} with median {middle}. "
        f"The threshold is {number(threshold.value)}. Ticks mark {counts[0]} and {counts[1]}."
    )


def _note(scores: Floats, end: float) -> str:
    note = "The ticks below the bars are the labelled items."
    n_beyond = int((scores > end).sum())
    return note if not n_beyond else f"{note} The last bar also holds {count(n_beyond, 'score')} above {number(end)}."
