"""Cells as tables: means over the tables, and paired differences from one contestant with their standard errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.detection.cells import Cell

HARM = 0.02  # of AUROC: labels that cost more than this have done harm
HEADER = ("", "tables", "AUROC", "AP", "F1, own threshold", "F1, true share", "found", "AUROC -", "AP -", "harmed")


def summarise(cells: Sequence[Cell], budgets: Sequence[int], reference: str) -> str:
    """A table for each budget.

    The differences are those of the reference from each other contestant, over the tables that both have.
    harmed: the share of tables on which the labels cost more than two points of the contestant's own AUROC.
    """
    by_method: dict[str, dict[tuple[str, int], Cell]] = {}
    for cell in cells:
        by_method.setdefault(cell.method, {})[cell.table, cell.budget] = cell
    return "\n\n".join(f"{budget} labels:\n\n{_table(by_method, budget, reference)}" for budget in budgets)


def _table(by_method: Mapping[str, Mapping[tuple[str, int], Cell]], budget: int, reference: str) -> str:
    at = {method: _at_budget(cells, budget) for method, cells in by_method.items()}
    lines = ["| " + " | ".join(HEADER) + " |", "|---|" + "---:|" * (len(HEADER) - 1)]
    for method, cells in at.items():
        if cells:
            words = [method, str(len(cells)), *_means(list(cells.values()), budget)]
            words += [_difference(at.get(reference, {}), cells, name) for name in ("auroc", "average_precision")]
            words.append(_harm(by_method[method], cells) if budget and _asks(by_method[method]) else "")
            lines.append("| " + " | ".join(words) + " |")
    return "\n".join(lines)


def _at_budget(cells: Mapping[tuple[str, int], Cell], budget: int) -> dict[str, Cell]:
    """By table; one that asks nobody is the same at every budget."""
    return {table: cell for (table, at), cell in cells.items() if at == (budget if _asks(cells) else 0)}


def _asks(cells: Mapping[tuple[str, int], Cell]) -> bool:
    return any(budget for _, budget in cells)


def _means(cells: Sequence[Cell], budget: int) -> list[str]:
    figures = [[c.auroc, c.average_precision, c.f1, c.f1_at_share] for c in cells]
    found = [n for cell in cells for asked, n in cell.n_found.items() if asked == str(budget)]
    return [*(f"{100 * mean:.1f}" for mean in np.mean(figures, axis=0)), f"{np.mean(found):.1f}" if found else ""]


def _difference(ours: Mapping[str, Cell], theirs: Mapping[str, Cell], figure: str) -> str:
    both = sorted(ours.keys() & theirs.keys())
    gains = 100 * np.array([getattr(ours[table], figure) - getattr(theirs[table], figure) for table in both])
    if len(both) < 2 or not gains.any():
        return ""
    return f"{gains.mean():+.1f} ± {gains.std(ddof=1) / np.sqrt(len(both)):.1f}"


def _harm(cells: Mapping[tuple[str, int], Cell], with_labels: Mapping[str, Cell]) -> str:
    pairs = [(cells[table, 0].auroc, cell.auroc) for table, cell in with_labels.items() if (table, 0) in cells]
    return f"{100 * np.mean([before - after > HARM for before, after in pairs]):.0f} %" if pairs else ""
