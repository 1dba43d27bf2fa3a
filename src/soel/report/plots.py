"""Figures as plain data for plotly: what all of them share, and the training curve.

Colours are names of CSS variables ('--ink'); the page resolves them, so light and dark need one figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.text import number
from soel.types import Floats

Json = dict[str, Any]
INK, MUTED, GRID, SURFACE, ACCENT = "--ink", "--muted", "--line", "--surface", "--accent"
MARKS = {"normal": ("square", "--normal"), "anomaly": ("triangle-up", "--anomaly")}


@dataclass(frozen=True)
class Figure:
    """A plot: traces and layout, the sentence that stands for it when it is not seen, the note below it."""

    name: str
    traces: Sequence[Json]
    layout: Json
    alternative: str
    note: str


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
