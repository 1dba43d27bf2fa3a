"""The command: which sets, how many labels; prints a table for each number of labels."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.cell_files import read_cells
from benchmarks.patches.cells import WAYS, Cell, run_cells
from benchmarks.patches.sets import SETS
from soel.errors import ConfigError

HARM = 0.02  # of AUROC: labels that cost more than this have done harm


def main(words: Sequence[str]) -> int:
    """Run what is missing, then print."""
    arguments = _parser().parse_args(words)
    names = arguments.sets.split(",") if arguments.sets else list(SETS)
    unknown = [name for name in names if name not in SETS]
    if unknown:
        raise ConfigError(f"There is no set {unknown[0]!r}. Choose among: {', '.join(SETS)}.")
    budgets = [int(word) for word in arguments.labels.split(",")]
    draws = range(arguments.draws)
    if not arguments.only_print:
        for cell in run_cells(names, draws, budgets, arguments.data_dir, arguments.out, arguments.always):
            print(f"{cell.name} {cell.draw} {cell.way} {cell.labels}: {100 * cell.auroc:.1f}", flush=True)
    cells = [cell for cell in read_cells(arguments.out, Cell) if cell.name in names]
    print(summarise(cells, names, budgets))
    return 0


def summarise(cells: Sequence[Cell], names: Sequence[str], budgets: Sequence[int]) -> str:
    """AUROC / average precision, mean of the draws; then what maps point at, and how often labels did harm."""
    shown = [name for name in names if any(cell.name == name for cell in cells)]
    lines = ["| labels | by | " + " | ".join(shown) + " |", "|---:|---|" + "---:|" * len(shown)]
    for n_labels in budgets:
        for way in WAYS:
            of_way = [[c for c in cells if (c.name, c.way, c.labels) == (name, way, n_labels)] for name in shown]
            lines.append(f"| {n_labels} | {way} | " + " | ".join(map(_figures, of_way)) + " |")
    lines += ["", *(_maps(cells, name) for name in shown if any(c.name == name and c.pixel_auroc for c in cells))]
    for way in WAYS:
        lines += [_harm([cell for cell in cells if cell.way == way], n, way) for n in budgets if n]
    return "\n".join(lines)


def _figures(cells: Sequence[Cell]) -> str:
    if not cells:
        return ""
    area, precision = (100 * np.mean([getattr(c, name) for c in cells]) for name in ("auroc", "average_precision"))
    return f"{area:.1f} / {precision:.1f}"


def _maps(cells: Sequence[Cell], name: str) -> str:
    found = [c for c in cells if c.name == name and c.pixel_auroc is not None and c.pixel_aupro is not None]
    area, regions = (100 * np.mean([getattr(c, figure) for c in found]) for figure in ("pixel_auroc", "pixel_aupro"))
    return f"{name}: pixels AUROC {area:.1f}, AUPRO {regions:.1f} ({len(found)} cells)"


def _harm(cells: Sequence[Cell], n_labels: int, way: str) -> str:
    before = {(c.name, c.draw): c.auroc for c in cells if c.labels == 0}
    after = {(c.name, c.draw): c.auroc for c in cells if c.labels == n_labels}
    both = before.keys() & after.keys()
    n_harmed = sum(before[key] - after[key] > HARM for key in both)
    return f"{way}: {n_labels} labels left {n_harmed} of {len(both)} draws more than two points below none"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks patches", description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("build/pictures"), help="sets that lie in files")
    parser.add_argument("--out", type=Path, default=Path("build/patches.jsonl"), help="finished cells, one a line")
    parser.add_argument("--sets", default="", metavar="A,B", help=f"of: {', '.join(SETS)}")
    parser.add_argument("--labels", default="0,10,20", metavar="A,B", help="numbers of labels")
    parser.add_argument("--draws", type=int, default=3, metavar="N", help="random splits of each set")
    parser.add_argument("--always", action="store_true", help="look at places in small pictures too")
    parser.add_argument("--only-print", action="store_true", help="measure nothing")
    return parser
