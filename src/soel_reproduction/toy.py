"""The figure on 2-D toy data (fig:toy-data): where four ways of learning see anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from soel.engines.local import LocalEngine
from soel.metrics import auroc
from soel.profiles import PAPER, Profile
from soel.types import UNLABELLED, Estimate, Floats

N_NORMAL, N_ANOMALY, SHARE, REACH, GRID = 300, 35, 0.1, 4.0, 41
WAYS = (
    ("all labels known", "ntl", "supervised"),
    ("binary classifier, all labels", "classifier", "supervised"),
    ("no labels, contaminated", "ntl", "all-normal"),
    ("SOEL, one label", "ntl", "soel"),
)


@dataclass(frozen=True)
class Panel:
    """One way of learning: scores (GRID, GRID) over the plane, and its AUROC on fresh data with new anomalies."""

    title: str
    scores: Floats
    auroc: float


def toy_data(seed: int, new_corner: bool = False) -> tuple[Floats, np.ndarray]:
    """A ring of normals; anomalies below it, in fresh data also in the upper right corner."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, np.pi, N_NORMAL)
    normals = 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.15 * rng.normal(size=(N_NORMAL, 2))
    centres = np.array([[0.0, -1.5], [3.0, 3.0]]) if new_corner else np.array([[0.0, -1.5]])
    anomalies = centres[rng.integers(len(centres), size=N_ANOMALY)] + 0.35 * rng.normal(size=(N_ANOMALY, 2))
    x = np.concatenate([normals, anomalies]).astype(np.float32)
    return x, np.arange(len(x)) >= N_NORMAL


def toy_panels(seed: int = 0, profile: Profile = PAPER) -> list[Panel]:
    """The four panels of the figure."""
    x, truth = toy_data(seed)
    fresh, fresh_truth = toy_data(seed + 1, new_corner=True)
    axis = np.linspace(-REACH, REACH, GRID)
    plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype(np.float32)
    panels = []
    for title, backbone, objective in WAYS:
        engine = LocalEngine(profile.with_parts(backbone=backbone, objective=objective), seed)
        labels = np.where(truth, 1, 0).astype(np.int8)
        if objective != "supervised":
            labels[:] = UNLABELLED
        if objective == "soel":
            labels[N_NORMAL] = 1
        warm = engine.warm_up(x)
        share = Estimate(SHARE, SHARE, SHARE, "fixed")
        detector = engine.learn(warm, x, labels, share)
        scores = np.asarray(detector.score(plane)).reshape(GRID, GRID)
        panels.append(Panel(title, scores, auroc(fresh_truth, detector.score(fresh))))
    return panels


def draw_toy(panels: list[Panel], seed: int = 0) -> str:
    """The panels side by side as one SVG: dark is anomalous, dots are the data."""
    x, truth = toy_data(seed)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {230 * len(panels)} 240" font-family="sans-serif" '
        'font-size="11" role="img" aria-label="Score maps on toy data">'
    ]
    for index, panel in enumerate(panels):
        title = escape(f"{panel.title}: AUROC {100 * panel.auroc:.0f}")
        body = _map(panel.scores) + _dots(x, truth)
        parts.append(f'<g transform="translate({230 * index + 10} 20)"><text y="-6">{title}</text>{body}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def write_toy(out: Path, seed: int = 0) -> list[Panel]:
    """Compute the figure and write it as toy.svg."""
    panels = toy_panels(seed)
    out.mkdir(parents=True, exist_ok=True)
    (out / "toy.svg").write_text(draw_toy(panels, seed), encoding="utf-8")
    return panels


def _map(scores: Floats) -> str:
    """Squares shaded by the rank of the score."""
    ranks = scores.ravel().argsort().argsort().reshape(scores.shape) / (scores.size - 1)
    size = 210 / GRID
    return "".join(
        f'<rect x="{column * size:.1f}" y="{(GRID - 1 - row) * size:.1f}" width="{size + 0.3:.1f}" '
        f'height="{size + 0.3:.1f}" fill="#1b3a5c" opacity="{0.05 + 0.75 * ranks[row, column]:.2f}"/>'
        for row in range(GRID)
        for column in range(GRID)
    )


def _dots(x: Floats, truth: np.ndarray) -> str:
    places = (x + REACH) / (2 * REACH) * 210
    return "".join(
        f'<circle cx="{a:.1f}" cy="{210 - b:.1f}" r="1.5" fill="{"#d1495b" if anomaly else "#f2c14e"}"/>'
        for (a, b), anomaly in zip(places.tolist(), truth.tolist(), strict=True)
    )
