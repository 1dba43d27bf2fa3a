"""The figure on 2-D toy data (fig:toy-data): where four ways of learning see anomalies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soel import PROFILES, Profile
from soel.assess.metrics import auroc
from soel.files import write_whole
from soel.learner import Learner
from soel.types import UNLABELLED, Floats, Kind, Pool
from soel_paper.figures import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_NORMAL, N_ANOMALY, SHARE, REACH, GRID = 300, 35, 0.1, 4.0, 41
WAYS = (
    ("all labels known", "ntl", "supervised"),
    ("binary classifier, all labels", "classifier", "supervised"),
    ("no labels, contaminated", "ntl", "all-normal"),
    ("SOEL, one label", "ntl", "soel"),
)


@dataclass(frozen=True)
class ScoreMap:
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


def score_maps(seed: int = 0, profile: Profile = PROFILES["paper"]) -> list[ScoreMap]:
    """The four maps of the figure."""
    x, truth = toy_data(seed)
    fresh, fresh_truth = toy_data(seed + 1, new_corner=True)
    axis = np.linspace(-REACH, REACH, GRID)
    plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype(np.float32)
    maps = []
    for title, backbone, objective in WAYS:
        chosen = profile.with_parts(backbone=backbone, objective=objective).settle(Kind.TABLE, x.shape[1])
        learner, pool = Learner(chosen, seed, contamination=SHARE), Pool.of(x, Kind.TABLE)
        labels = np.where(truth, 1, 0).astype(np.int8)
        if objective != "supervised":
            labels[:] = UNLABELLED
        if objective == "soel":
            labels[N_NORMAL] = 1
        fitted = learner.learn(learner.prepare(pool), pool, [], labels)
        scores = np.asarray(fitted.score(plane)).reshape(GRID, GRID)
        maps.append(ScoreMap(title, scores, auroc(fresh_truth, fitted.score(fresh))))
    return maps


def draw_toy(maps: Sequence[ScoreMap], seed: int = 0) -> bytes:
    """The score maps side by side as one SVG: dark is anomalous, dots are the data."""
    (x, truth), span = toy_data(seed), (-REACH, REACH)

    def paint(figure: Figure) -> None:
        for number, shown in enumerate(maps, start=1):
            axes = figure.add_subplot(1, len(maps), number)
            ranks = shown.scores.ravel().argsort().argsort().reshape(shown.scores.shape)
            axes.imshow(ranks, origin="lower", extent=(*span, *span), cmap="Blues")
            axes.scatter(x[:, 0], x[:, 1], s=2, c=["crimson" if anomaly else "goldenrod" for anomaly in truth])
            axes.set(title=f"{shown.title}: AUROC {100 * shown.auroc:.0f}", xticks=[], yticks=[], xlim=span, ylim=span)

    return svg((2.6 * len(maps), 2.8), paint)


def write_toy(out: Path, seed: int = 0) -> list[ScoreMap]:
    """Compute the figure and write it as toy.svg."""
    maps = score_maps(seed)
    write_whole(out / "toy.svg", draw_toy(maps, seed))
    return maps
