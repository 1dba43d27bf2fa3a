"""Curves as a hand-written SVG: one panel per data set, one line per method, a band of one standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from soel_reproduction.markdown import WORDS
from soel_reproduction.results import RAW, Point, Results

WIDTH, HEIGHT, MARGIN, LEGEND = 300, 220, 46, 150
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8d5a97", "#e08e1a", "#555555", "#17becf", "#a0522d", "#708238")
MARKS = ("", "6 3", "2 2", "8 3 2 3")


@dataclass(frozen=True)
class Line:
    """One curve: its name and its points from left to right as (x, mean, deviation)."""

    name: str
    points: Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class Panel:
    """One set of axes. per_cent: its values lie between 0 and 100."""

    title: str
    lines: Sequence[Line]
    per_cent: bool = False


def panels(results: Results, x_axis: str) -> list[Panel]:
    """A panel per data set and measure, a line per method; estimates of a share stand together beside the truth."""
    if x_axis == "share" and all(name.startswith("alpha_") for name in results.values("measure")):
        return [_estimates(dataset, results.where(dataset=dataset)) for dataset in results.values("dataset")]
    found = []
    for dataset in results.values("dataset"):
        for measure in results.where(dataset=dataset).values("measure"):
            part = results.where(dataset=dataset, measure=measure)
            shares = part.values("share") if x_axis != "share" else [""]
            for share in shares:
                here = part.where(share=share) if share else part
                title = f"{dataset}: {WORDS.get(measure, measure)}" + (f", {share}" if len(shares) > 1 else "")
                lines = [_line(name, here.where(method=name), x_axis) for name in here.values("method")]
                found.append(Panel(title, lines, measure not in RAW))
    return found


def _estimates(dataset: str, results: Results) -> Panel:
    lines = [
        _line(WORDS.get(measure, measure), results.where(measure=measure), "share")
        for measure in results.values("measure")
    ]
    truth = Line("true share", [(x, x, 0.0) for x, _, _ in lines[0].points])
    return Panel(f"{dataset}: estimate, %", [truth, *lines], True)


def draw(shown: Sequence[Panel], x_title: str) -> str:
    """The picture as one SVG document that needs nothing else; colours and dashes both tell lines apart."""
    names = list(dict.fromkeys(line.name for panel in shown for line in panel.lines))
    across = min(3, len(shown))
    down = -(-len(shown) // across)
    width, height = across * (WIDTH + MARGIN) + LEGEND, down * (HEIGHT + 2 * MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11" role="img" aria-label="{escape(", ".join(panel.title for panel in shown))}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for index, panel in enumerate(shown):
        left, top = MARGIN + index % across * (WIDTH + MARGIN), MARGIN + index // across * (HEIGHT + 2 * MARGIN)
        parts.append(f'<g transform="translate({left} {top})">{_panel(panel, names, x_title)}</g>')
    parts.append(f'<g transform="translate({width - LEGEND + 10} {MARGIN})">{_legend(names)}</g></svg>')
    return "\n".join(parts) + "\n"


def _line(name: str, results: Results, x_axis: str) -> Line:
    return Line(name, sorted((_x(p, x_axis), p.mean, p.deviation) for p in results.points))


def _x(point: Point, axis: str) -> float:
    return float(point.at[axis].rstrip(" %"))


def _panel(panel: Panel, names: Sequence[str], x_title: str) -> str:
    xs = sorted({x for line in panel.lines for x, _, _ in line.points})
    lows = [mean - deviation for line in panel.lines for _, mean, deviation in line.points]
    highs = [mean + deviation for line in panel.lines for _, mean, deviation in line.points]
    floor, ceiling = (0.0, 100.0) if panel.per_cent else (0.0, math.inf)
    steps = ticks(max(floor, min(lows)), min(ceiling, max(highs)))
    low, spread = steps[0], steps[-1] - steps[0]

    def place(x: float, y: float) -> tuple[float, float]:
        """Budgets double, so the places on x are evenly spaced."""
        at = xs.index(x) / max(1, len(xs) - 1)
        height = (min(max(y, low), low + spread) - low) / spread  # a band may reach beyond what is possible
        return round(at * WIDTH, 1), round(HEIGHT - height * HEIGHT, 1)

    parts = [f'<text y="-10" font-weight="bold">{escape(panel.title)}</text>']
    parts.append(f'<path d="M0 0V{HEIGHT}H{WIDTH}" fill="none" stroke="#999"/>')
    parts += [f'<text x="{place(x, low)[0]}" y="{HEIGHT + 15}" text-anchor="middle">{x:g}</text>' for x in xs]
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT + 30}" text-anchor="middle">{escape(x_title)}</text>')
    for value in steps:
        y = place(xs[0], value)[1]
        parts.append(f'<text x="-5" y="{y + 4}" text-anchor="end">{value:.6g}</text>')
        parts.append(f'<path d="M0 {y}H{WIDTH}" stroke="#eee"/>')
    for line in panel.lines:
        parts.append(_curve(line, names.index(line.name), place))
    return "".join(parts)


def ticks(low: float, high: float) -> list[float]:
    """Three to seven round values, the first at or below `low` and the last at or above `high`."""
    span = high - low or abs(high) or 1.0
    size = 10.0 ** math.floor(math.log10(span / 4))
    step = next(size * factor for factor in (1, 2, 5, 10) if span / (size * factor) <= 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * n, 10) for n in range(first, max(last, first + 1) + 1)]


def _curve(line: Line, index: int, place: object) -> str:
    assert callable(place)
    colour, dash = COLOURS[index % len(COLOURS)], MARKS[index // len(COLOURS) % len(MARKS)]
    upper = [place(x, mean + deviation) for x, mean, deviation in line.points]
    lower = [place(x, mean - deviation) for x, mean, deviation in reversed(line.points)]
    middle = [place(x, mean) for x, mean, _ in line.points]
    band = " ".join(f"{x},{y}" for x, y in upper + lower)
    path = " ".join(f"{x},{y}" for x, y in middle)
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>' for x, y in middle)
    return (
        f'<polygon points="{band}" fill="{colour}" opacity="0.08"/><polyline points="{path}" fill="none" '
        f'stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>{dots}'
    )


def _legend(names: Sequence[str]) -> str:
    parts = []
    for index, name in enumerate(names):
        colour, y = COLOURS[index % len(COLOURS)], 18 * index
        parts.append(f'<path d="M0 {y}H22" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="28" y="{y + 4}">{escape(name)}</text>')
    return "".join(parts)
