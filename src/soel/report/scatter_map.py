"""The map: every item in the principal plane, coloured by score, with the queries in the order asked."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from soel.report.facts import AnsweredItem, PoolFacts
from soel.report.plots import INK, MARKS, SURFACE, Figure, Json, axis, layout, plain
from soel.report.projection import fit_plane, project
from soel.text import count, percent
from soel.types import Floats, Rows

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


def item_map(pool: PoolFacts, queries: Sequence[AnsweredItem], seed: int) -> Figure:
    """The pool from above, so that one sees where the questions fell and where high scores lie."""
    rng = np.random.default_rng(seed)
    plane = fit_plane(pool.embeddings, rng)
    asked = {query.item for query in queries}
    always = np.array([row for row, name in enumerate(pool.ids) if str(name) in asked], np.int64)
    rows = shown_rows(pool, always, rng)
    points = project(pool.embeddings[rows], plane)
    traces = [_items(pool, rows, points), *_queries(pool, queries, rows, points)]
    bare = {"showticklabels": False, "ticks": ""}
    return Figure(
        "map",
        traces,
        layout(xaxis=axis("first direction", **bare), yaxis=axis("second direction", **bare), hovermode="closest"),
        _alternative(len(rows), queries),
        _note(len(pool), len(rows), len(queries), plane.spread),
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
    kept[pool.labelled] = True
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


def _alternative(n_shown: int, queries: Sequence[AnsweredItem]) -> str:
    normal, anomaly = (sum(query.answer == word for query in queries) for word in ("normal", "anomaly"))
    return (
        f"Map of {count(n_shown, 'item')} in two directions, darker or brighter by score. Of "
        f"{count(len(queries), 'query')} marked, {normal} were answered normal (squares) and "
        f"{anomaly} anomaly (triangles)."
    )


def _note(n_items: int, n_shown: int, n_queries: int, spread: float) -> str:
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
