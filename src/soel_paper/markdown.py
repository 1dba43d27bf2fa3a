"""Results as Markdown: one table per place on the axes that are neither rows nor columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from soel_paper.artefact import Artefact
from soel_paper.claims import Verdict
from soel_paper.results import AXES, Results, word


def table(artefact: Artefact, results: Results) -> str:
    """All tables of an artefact: ours, mean +- standard deviation, the paper's figure in brackets."""
    shown = (*artefact.rows, artefact.columns)
    beyond = [axis for axis in AXES if axis not in shown and len(results.values(axis)) > 1]
    places = list(product(*(results.values(axis) for axis in beyond)))
    parts = []
    for place in places:
        part = results.where(**dict(zip(beyond, place, strict=True)))
        if part.points:
            title = ", ".join(word(axis, value) for axis, value in zip(beyond, place, strict=True))
            parts.append((f"{title}:\n\n" if title else "") + _one(artefact, part))
    return "\n\n".join(parts) or "No figures yet."


def verdicts(found: Sequence[tuple[str, Verdict]]) -> str:
    """One line per claim."""
    return "\n".join(f"- {text} **{verdict.outcome}**: {verdict.why}." for text, verdict in found)


def _one(artefact: Artefact, results: Results) -> str:
    columns = results.values(artefact.columns)
    order = {axis: results.values(axis) for axis in artefact.rows}
    rows = [row for row in product(*order.values()) if results.where(**dict(zip(order, row, strict=True))).points]
    head = "| " + " | ".join([*("" for _ in artefact.rows), *(word(artefact.columns, c) for c in columns)]) + " |"
    lines = [head, "|" + "---|" * len(artefact.rows) + "---:|" * len(columns)]
    for row in rows:
        at = dict(zip(artefact.rows, row, strict=True))
        cells = [_cell(results.where(**at, **{artefact.columns: column})) for column in columns]
        lines.append("| " + " | ".join([*(word(axis, value) for axis, value in at.items()), *cells]) + " |")
    complete = len(results.points) == len(rows) * len(columns)
    if artefact.rows == ("dataset",) and len(rows) > 1 and artefact.columns == "method" and complete:
        means = [results.mean(method=column) for column in columns]
        lines.append("| average | " + " | ".join(f"{mean:.1f}" for mean in means) + " |")
    return "\n".join(lines)


def _cell(results: Results) -> str:
    if not results.points:
        return "-"
    point = results.points[0]
    paper = "" if point.paper is None else f" ({point.paper[0]:.1f})"
    spread = f" ± {point.deviation:.1f}" if point.n > 1 else ""
    return f"{point.mean:.1f}{spread}{paper}"
