"""The benchmarks as a picture: what was reached beside the recorded floor, one bar each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

WORDS = {
    "batched_over_loop": "training: one batched computation, times a loop over views",
    "five_seeds_over_loop": "training: five seeds as one model, times the loop",
    "twice_one_member_over_five": "five members, within twice the time of one",
    "trained_over_deepod": "rows trained a second, times DeepOD's NeuTraL",
    "scored_over_deepod": "rows scored a second, times DeepOD's NeuTraL",
    "reading_over_query": "diverse query, share of the speed of reading the bytes",
    "pool_bytes_over_extra_bytes": "diverse query, pool over extra memory",
    "share_of_bare_throughput": "features of pictures, share of bare onnxruntime",
    "score over forward pass": "score of a file, share of the bare forward pass",
    "memory room": "larger than memory: 3 GiB over the peak",
    "help_limit_over_seconds": "soel --help, 0.4 s over its time",
    "status_of_a_million_limit_over_seconds": "status of a million items, 1 s over its time",
    "prepared_page_limit_over_seconds": "page of a prepared session, 1 s over its time",
}
ROW, LEFT, WIDTH, RIGHT, TOP = 26, 400, 330, 70, 40
LOW, HIGH = 0.5, 20.0  # of the axis, in units of the floor


def draw(results: Mapping[str, Mapping[str, float]], floors: Mapping[str, Mapping[str, float]]) -> str:
    """An SVG with a bar for every figure that has a floor and words; the axis is the figure over its floor."""
    rows = [
        (WORDS[figure], figures[figure], floor)
        for name, figures in results.items()
        for figure, floor in floors[name].items()
        if figure in WORDS and figure in figures and floor > 0
    ]
    height = TOP + ROW * len(rows) + 10
    parts = [_text(LEFT + _at(1.0), 18, "recorded floor", "middle", 12)]
    parts += [part for number, row in enumerate(rows) for part in _bar(TOP + ROW * number, *row)]
    parts.append(f'<path d="M{LEFT + _at(1.0):.0f} 26V{height - 6}" stroke="#c23b3b" stroke-dasharray="4 3"/>')
    size = f'viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" width="{LEFT + WIDTH + RIGHT}" height="{height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _bar(top: float, words: str, value: float, floor: float) -> list[str]:
    long, colour = _at(value / floor), "#2a6f97" if value >= floor else "#c23b3b"
    return [
        _text(LEFT - 8, top + 15, words, "end", 12.5),
        f'<rect x="{LEFT}" y="{top + 4}" width="{long:.1f}" height="15" rx="2" fill="{colour}"/>',
        _text(LEFT + long + 5, top + 16, f"{value:.2f} ({floor:.2g})", "start", 12),
    ]


def _text(x: float, y: float, words: str, anchor: str, size: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#222">{escape(words)}</text>'


def _at(ratio: float) -> float:
    """Where a ratio lies on the logarithmic axis, in pixels."""
    inside = min(max(ratio, LOW), HIGH)
    return WIDTH * math.log(inside / LOW) / math.log(HIGH / LOW)
