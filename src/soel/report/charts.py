"""The report's figures as plain data for plotly: the histogram of scores, the map of the pool, the training curve.

Colours are names of CSS variables ('--ink'); the page resolves them, so light and dark need one figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from soel.report.facts import AnsweredItem, PoolFacts, Threshold
from soel.text import count, number, percent
from soel.types import LABEL_WORDS, Floats, Rows

Json = dict[str, Any]
INK, MUTED, GRID, SURFACE, ACCENT = "--ink", "--muted", "--line", "--surface", "--accent"
MARKS = {"normal": ("square", "--normal"), "anomaly": ("triangle-up", "--anomaly")}
MOST_BARS = 60
LONG_TAIL = 3.0  # a tail this many times as long as the rest is gathered in the last bar
TALL = 200  # from this bar height on a logarithmic axis keeps the small bars visible
MOST_POINTS = 20_000
ALWAYS_SHOWN = 200  # the highest scores are never left out by the sample
MOST_NUMBERS = 100  # beyond this many queries the numbers would cover the map; they stay in the hover text
SCALE = [[0, "--scale-0"], [0.4, "--scale-1"], [0.75, "--scale-2"], [1, "--scale-3"]]
COLOUR_BAR: Json = {
    "title": {"text": "score", "side": "top", "font": {"size": 13}},
    "orientation": "h",
    "thickness": 10,
    "len": 0.6,
    "y": -0.1,
    "yanchor": "top",
    "outlinewidth": 0,
    "nticks": 5,
}


@dataclass(frozen=True)
class Figure:
    """A plot: traces and layout, the sentence that stands for it when it is not seen, the note below it."""

    name: str
    traces: Sequence[Json]
    layout: Json
    alternative: str
    note: str


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
            xaxis=axis("score", showgrid=False, range=span, anchor="y2"),
            yaxis=_count_axis(int(heights.max())),
            yaxis2=_tick_axis(),
            barmode="overlay",
            showlegend=False,
            **_line(threshold.value, span),
        ),
        _describe_histogram(pool, threshold),
        _note_tail(scores, end),
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
        return axis("items", domain=[0.36, 1])
    decades = [-0.3, float(np.log10(highest)) + 0.15]  # starts below 1, so that one item is seen
    return axis("items (log scale)", domain=[0.36, 1], type="log", range=decades, dtick=1)


def _tick_axis() -> Json:
    words: Json = {"tickvals": [0, 1], "ticktext": ["normal", "anomaly"]}
    return axis(domain=[0, 0.28], range=[-0.6, 1.6], showgrid=False, fixedrange=True, **words)


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


def _describe_histogram(pool: PoolFacts, threshold: Threshold) -> str:
    low, middle, high = (number(value) for value in np.quantile(pool.scores, (0, 0.5, 1)))
    counts = [
        count(int((pool.labels == code).sum()), f"labelled {word}") for word, code in list(LABEL_WORDS.items())[:2]
    ]
    return (
        f"Histogram: {count(len(pool.ids), 'score')} from {low} to {high} with median {middle}. "
        f"The threshold is {number(threshold.value)}. Ticks mark {counts[0]} and {counts[1]}."
    )


def _note_tail(scores: Floats, end: float) -> str:
    note = "The ticks below the bars are the labelled items."
    n_beyond = int((scores > end).sum())
    return note if not n_beyond else f"{note} The last bar also holds {count(n_beyond, 'score')} above {number(end)}."


def item_map(pool: PoolFacts, queries: Sequence[AnsweredItem], seed: int) -> Figure:
    """The pool from above, so that one sees where the questions fell and where high scores lie."""
    rng = np.random.default_rng(seed)
    asked = {query.item for query in queries}
    always = np.array([row for row, name in enumerate(pool.ids) if str(name) in asked], np.int64)
    rows = shown_rows(pool, always, rng)
    points = pool.points[rows]
    traces = [_items(pool, rows, points), *_queries(pool, queries, rows, points)]
    bare = {"showticklabels": False, "ticks": ""}
    return Figure(
        "map",
        traces,
        layout(xaxis=axis("first direction", **bare), yaxis=axis("second direction", **bare), hovermode="closest"),
        _describe_map(len(rows), queries),
        _note_map(len(pool.ids), len(rows), len(queries), pool.spread),
    )


def shown_rows(pool: PoolFacts, always: Rows, rng: np.random.Generator, most: int = MOST_POINTS) -> Rows:
    """All rows, or a sample with every labelled item, those in `always` and the highest scores; lowest first.

    The order puts what matters on top where points cover one another.
    """
    rows = np.argsort(pool.scores, kind="stable")
    if len(rows) <= most:
        return rows
    kept = np.zeros(len(rows), bool)
    kept[rows[-ALWAYS_SHOWN:]] = True
    kept[pool.labels >= 0] = True
    kept[always] = True
    others = np.flatnonzero(~kept)
    kept[rng.choice(others, max(0, most - int(kept.sum())), replace=False)] = True
    return rows[kept[rows]]


def _items(pool: PoolFacts, rows: Rows, points: Floats) -> Json:
    low, high = (float(value) for value in np.quantile(pool.scores, (0.01, 0.99)))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "item",
        "showlegend": False,
        "x": plain(points[:, 0]),
        "y": plain(points[:, 1]),
        "text": [escape(str(pool.ids[row]), quote=False) for row in rows],
        "customdata": plain(pool.scores[rows]),
        "hovertemplate": "%{text}<br>score %{customdata:.4g}<extra></extra>",
        "marker": {
            "size": 7 if len(rows) <= 2_000 else 5,
            "opacity": 0.85,
            "color": plain(pool.scores[rows]),
            "colorscale": SCALE,
            "cmin": low,
            "cmax": max(high, low + 1e-12),
            "colorbar": COLOUR_BAR,
        },
    }


def _queries(pool: PoolFacts, queries: Sequence[AnsweredItem], rows: Rows, points: Floats) -> list[Json]:
    place = {str(pool.ids[row]): point for row, point in zip(rows, points, strict=True)}
    asked = [(order, query) for order, query in enumerate(queries, 1) if query.item in place]
    words = ["normal", "anomaly", *sorted({query.answer for _, query in asked} - set(MARKS))]
    groups = [(word, [(order, query) for order, query in asked if query.answer == word]) for word in words]
    numbered = len(queries) <= MOST_NUMBERS
    return [_answer_marks(word, group, place, numbered) for word, group in groups if group]


def _answer_marks(word: str, group: list[tuple[int, AnsweredItem]], place: dict[str, Floats], numbered: bool) -> Json:
    symbol, colour = MARKS.get(word, ("circle-open", INK))
    at = np.array([place[query.item] for _, query in group])
    word = escape(word, quote=False)
    return {
        "type": "scatter",
        "mode": "markers+text" if numbered else "markers",
        "name": f"asked: {word}",
        "x": plain(at[:, 0]),
        "y": plain(at[:, 1]),
        "text": [str(order) for order, _ in group],
        "textposition": "top center",
        "textfont": {"size": 11, "color": INK},
        "customdata": [[escape(query.item, quote=False), float(f"{query.score:.6g}"), word] for _, query in group],
        "hovertemplate": "%{customdata[0]}<br>query %{text}: %{customdata[2]}"
        "<br>score when asked %{customdata[1]:.4g}<extra></extra>",
        "marker": {
            "symbol": symbol,
            "size": 14 if symbol == "triangle-up" else 11,
            "color": colour,
            "line": {"width": 1.5, "color": SURFACE},
        },
    }


def _describe_map(n_shown: int, queries: Sequence[AnsweredItem]) -> str:
    normal, anomaly = (sum(query.answer == word for query in queries) for word in ("normal", "anomaly"))
    return (
        f"Map of {count(n_shown, 'item')} in two directions, darker or brighter by score. Of "
        f"{count(len(queries), 'query')} marked, {normal} were answered normal (squares) and "
        f"{anomaly} anomaly (triangles)."
    )


def _note_map(n_items: int, n_shown: int, n_queries: int, spread: float) -> str:
    parts = [f"The two directions of largest spread keep {percent(spread)} of it; items that lie close are alike."]
    if n_shown < n_items:
        parts.append(
            f"Shown are {n_shown:,} of {n_items:,} items: all labelled or asked ones, the highest scores and a sample."
        )
    if n_queries > MOST_NUMBERS:
        parts.append("Point at a marked item to read its number.")
    elif n_queries:
        parts.append("Numbers give the order in which items were asked.")
    return " ".join(parts)


def training_curve(history: Sequence[Sequence[float]]) -> Figure:
    """The loss by epoch: the mean over the members with the band from the lowest to the highest."""
    losses = np.asarray(history, np.float64)
    epochs, mean = list(range(1, len(losses) + 1)), plain(losses.mean(axis=1))
    traces = _band(epochs, losses) if losses.shape[1] > 1 else []
    traces.append(
        {
            "type": "scatter",
            "mode": "lines" if len(losses) > 1 else "markers",
            "name": "mean" if losses.shape[1] > 1 else "loss",
            "x": epochs,
            "y": mean,
            "line": {"color": ACCENT, "width": 2},
            "marker": {"color": ACCENT},
            "hovertemplate": "epoch %{x}<br>loss %{y:.4g}<extra></extra>",
        }
    )
    return Figure(
        "training",
        traces,
        layout(xaxis=axis("epoch", showgrid=False), yaxis=axis("training loss"), showlegend=losses.shape[1] > 1),
        f"Line: over {len(losses)} epochs the mean loss goes from {number(mean[0])} to {number(mean[-1])}.",
        "A curve that levels off has trained long enough."
        + (" The band spans all members of the ensemble." if losses.shape[1] > 1 else ""),
    )


def _band(epochs: list[int], losses: Floats) -> list[Json]:
    edge: Json = {"type": "scatter", "mode": "lines", "x": epochs, "hoverinfo": "skip"}
    edge["line"] = {"width": 0, "color": "--band"}
    low = {**edge, "y": plain(losses.min(axis=1)), "showlegend": False}
    high = {**edge, "y": plain(losses.max(axis=1)), "name": f"all {losses.shape[1]} members"}
    return [low, {**high, "fill": "tonexty", "fillcolor": "--band"}]


def axis(title: str = "", **more: Any) -> Json:
    """An axis that keeps in the background."""
    return {
        "title": {"text": title, "font": {"size": 13}, "standoff": 8},
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": GRID,
        "automargin": True,
        "fixedrange": False,
        **more,
    }


def layout(**more: Any) -> Json:
    """The look that all plots share."""
    return {
        "paper_bgcolor": "--clear",
        "plot_bgcolor": "--clear",
        "font": {"color": INK, "size": 13},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hoverlabel": {"bgcolor": SURFACE, "bordercolor": MUTED, "font": {"color": INK}, "align": "left"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 13}},
        "modebar": {"bgcolor": "--clear", "color": MUTED, "activecolor": INK},
        **more,
    }


def plain(values: Floats) -> list[float]:
    """Values for JSON in six figures, which keeps the page small."""
    return [float(f"{value:.6g}") for value in values]
