"""Pictures: curves over an axis, and score maps on 2-D toy data."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from soel import PROFILES, ConfigError, Profile
from soel.assess.metrics import auroc
from soel.files import write_whole
from soel.learner import Learner
from soel.types import UNLABELLED, Floats, Kind, Pool
from soel_paper.findings import RAW, FigureTable, Missing, word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Axis = Literal["budget", "share"]
Curve = Sequence[tuple[float, float, float]]  # (x, mean, deviation), from left to right
X_TITLES: Mapping[Axis, str] = {"budget": "labels", "share": "true share of anomalies, %"}
ACROSS, SIDE = 3, (3.4, 2.7)
STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "soel", "font.size": 8}  # text stays text, ids stay the same
UNDRAWN = Missing("the picture", "matplotlib is not installed (pip install 'soel[reproduction]')")
# The paper gives neither its toy data nor the network. A quarter of these rows lies within the arc of the normal ones,
# so that a label-free NTL learns it too; a few members, since one network of two columns wavers from seed to seed.
N_NORMAL, N_ANOMALY, REACH, GRID, MEMBERS = 300, 100, 4.0, 41, 8
OLD_PLACE, NEW_PLACE = (0.0, -0.5), (3.0, 3.0)
WAYS = (
    ("all labels known", "ntl", "supervised"),
    ("binary classifier, all labels", "classifier", "supervised"),
    ("no labels, contaminated", "ntl", "all-normal"),
    ("SOEL, one label", "ntl", "soel"),
)


@dataclass(frozen=True)
class Panel:
    """One set of axes with its curves by name. per_cent: its values lie between 0 and 100."""

    title: str
    curves: Mapping[str, Curve]
    per_cent: bool = True


def can_draw() -> bool:
    """Whether matplotlib is there; a table needs no picture, so it is not required."""
    return find_spec("matplotlib") is not None


def panels(results: FigureTable, x_axis: Axis) -> list[Panel]:
    """A panel per data set and measure, a curve per method; over the share, all estimates beside the truth."""
    found = []
    for dataset in results.values("dataset"):
        part = results.where(dataset=dataset)
        if x_axis == "share":
            found.append(_estimates(dataset, part))
            continue
        shares = part.values("share")
        for measure in part.values("measure"):
            for share in shares:
                here = part.where(measure=measure, share=share)
                title = f"{dataset}: {word('measure', measure)}"
                title += f", {word('share', share)}" if len(shares) > 1 else ""
                curves = {name: _curve(here.where(method=name), x_axis) for name in here.values("method")}
                found.append(Panel(title, curves, measure not in RAW))
    return found


def draw_curves(shown: Sequence[Panel], x_axis: Axis) -> bytes:
    """The panels as one SVG; the places on x are evenly spaced, since budgets double."""
    across = min(ACROSS, len(shown))
    down = -(-len(shown) // across)
    names = list(dict.fromkeys(name for panel in shown for name in panel.curves))
    looks = {name: {"color": f"C{n % 10}", "linestyle": ("-", "--", ":")[n // 10 % 3]} for n, name in enumerate(names)}

    def paint(figure: Figure) -> None:
        for number, panel in enumerate(shown, start=1):
            axes = figure.add_subplot(down, across, number)
            _draw_panel(axes, panel, looks)
            axes.set_xlabel(X_TITLES[x_axis])
        lines = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
        figure.legend(handles=[lines[name] for name in names], loc="outside right upper", frameon=False)

    return svg((SIDE[0] * across + 1.6, SIDE[1] * down), paint)


def svg(size: tuple[float, float], paint: Callable[[Figure], None]) -> bytes:
    """What `paint` puts on a figure of this size in inches; equal figures give equal bytes."""
    if not can_draw():
        raise ConfigError("A picture needs matplotlib, which is not installed. pip install 'soel[reproduction]'")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE), io.BytesIO() as file:
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        figure.savefig(file, format="svg", metadata={"Date": None})
        return file.getvalue()


def _estimates(dataset: str, results: FigureTable) -> Panel:
    curves = {word("measure", m): _curve(results.where(measure=m), "share") for m in results.values("measure")}
    truth = [(x, x, 0.0) for x, _, _ in next(iter(curves.values()))]
    return Panel(f"{dataset}: estimate, %", {"true share": truth, **curves})


def _curve(results: FigureTable, x_axis: Axis) -> Curve:
    places = [point.at.budget if x_axis == "budget" else 100 * (point.at.share or 0.0) for point in results.points]
    return sorted((float(x), p.mean, p.deviation) for x, p in zip(places, results.points, strict=True))


def _draw_panel(axes: Axes, panel: Panel, looks: Mapping[str, Mapping[str, Any]]) -> None:
    xs = sorted({x for curve in panel.curves.values() for x, _, _ in curve})
    for name, curve in panel.curves.items():
        at = [xs.index(x) for x, _, _ in curve]
        means, deviations = (np.array([values[n] for values in curve]) for n in (1, 2))
        low, high = means - deviations, means + deviations  # a band may reach beyond what is possible
        low, high = np.maximum(low, 0), np.minimum(high, 100) if panel.per_cent else high
        axes.plot(at, means, label=name, marker=".", **looks[name])
        axes.fill_between(at, low, high, alpha=0.1, linewidth=0, color=looks[name]["color"])
    axes.set_title(panel.title)
    axes.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    axes.grid(axis="y", alpha=0.3)


@dataclass(frozen=True)
class ScoreMap:
    """One way of learning: scores (GRID, GRID) over the plane, and its AUROC on fresh data with new anomalies."""

    title: str
    scores: Floats
    auroc: float


def toy_data(seed: int, new_corner: bool = False) -> tuple[Floats, np.ndarray]:
    """An arc of normals; anomalies within it, in fresh data also in the upper right corner."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, np.pi, N_NORMAL)
    normals = 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.15 * rng.normal(size=(N_NORMAL, 2))
    centres = np.array([OLD_PLACE, NEW_PLACE] if new_corner else [OLD_PLACE])
    anomalies = centres[rng.integers(len(centres), size=N_ANOMALY)] + 0.3 * rng.normal(size=(N_ANOMALY, 2))
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
        learner, pool = (
            Learner(replace(chosen, n_members=MEMBERS), seed, contamination=float(truth.mean())),
            Pool.of(x, Kind.TABLE),
        )
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
