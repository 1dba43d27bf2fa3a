"""The benchmarks as a picture: what was reached beside the recorded floor, one bar each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from soel_paper.figures import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    "fit_limit_over_processor_seconds": "fit of 5,000 x 30, 5 s over its processor time",
    "fit_5000x200_limit_over_processor_seconds": "fit of 5,000 x 200, its limit over its processor time",
    "fit_2000x1500_limit_over_processor_seconds": "fit of 2,000 x 1,500, its limit over its processor time",
    "question_5000x200_limit_over_processor_seconds": "next question of 5,000 x 200, its limit over its processor time",
    "question_2000x1500_limit_over_processor_seconds": "next question of 2,000 x 1,500, the same",
    "question_limit_over_seconds": "next question of 10,000 rows, 0.5 s over its time",
    "one_row_limit_over_processor_seconds": "soel score on one row, 2 s over its processor time",
    "explain_limit_over_processor_seconds": "one row explained, 50 ms over its processor time",
}
HIGHEST = 20.0  # of the axis, in units of the floor


def draw(results: Mapping[str, Mapping[str, float]], floors: Mapping[str, Mapping[str, float]]) -> bytes:
    """An SVG with a bar for every figure that has a floor and words; the axis is the figure over its floor."""
    rows = [
        (WORDS[figure], figures[figure], floor)
        for name, figures in results.items()
        for figure, floor in floors[name].items()
        if figure in WORDS and figure in figures and floor > 0
    ]
    ratios = [value / floor for _, value, floor in rows]

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        colours = ["tab:blue" if ratio >= 1 else "tab:red" for ratio in ratios]
        bars = axes.barh([words for words, _, _ in rows], [min(ratio, HIGHEST) for ratio in ratios], color=colours)
        axes.bar_label(bars, [f"{value:.2f} ({floor:.2g})" for _, value, floor in rows], padding=3)
        axes.axvline(1.0, color="tab:red", linestyle="--", label="recorded floor")
        axes.set(xscale="log", xlim=(0.5, 2 * HIGHEST), xlabel="times the recorded floor")
        axes.invert_yaxis()

    return svg((8.5, 0.9 + 0.3 * len(rows)), paint)
