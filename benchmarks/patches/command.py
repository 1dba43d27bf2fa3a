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
        for cell in run_cells(names, draws, budgets, arguments.data_dir, arguments.out, arguments.memory):
            print(f"{cell.name} {cell.draw} {cell.way} {cell.labels}: {100 * cell.auroc:.1f}", flush=True)
    cells = [cell for cell in read_cells(arguments.out, Cell) if cell.name in names]
    print(summarise(cells, names, budgets))
    return 0


def summarise(cells: Sequence[Cell], names: Sequence[str], budgets: Sequence[int]) -> str:
    """Means over the draws, in percent: a line for each set, number of answers and way; and harm."""
    lines = [
        "| set | answers | by | AUROC | AP | AP at 10 % | pixel AUROC | AUPRO | met | share held | seconds |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in names:
        for n_labels in budgets:
            for way in WAYS:
                found = [c for c in cells if (c.name, c.way, c.labels) == (name, way, n_labels)]
                if found:
                    lines.append(f"| {name} | {n_labels} | {way} | " + " | ".join(_figures(found)) + " |")
    for way in WAYS[:3]:
        lines += [_harm([cell for cell in cells if cell.way == way], n, way) for n in budgets if n]
    return "\n".join(lines)


def _figures(cells: Sequence[Cell]) -> list[str]:
    shown = []
    for figure in ("auroc", "average_precision", "precision_at_tenth", "pixel_auroc", "pixel_aupro"):
        values = [getattr(cell, figure) for cell in cells if getattr(cell, figure) is not None]
        shown.append(f"{100 * np.mean(values):.1f}" if values else "")
    held = f"{sum(c.share_held for c in cells)}/{len(cells)}"
    return [*shown, f"{np.mean([c.n_found for c in cells]):.1f}", held, f"{np.mean([c.seconds for c in cells]):.1f}"]


def _harm(cells: Sequence[Cell], n_labels: int, way: str) -> str:
    before = {(c.name, c.draw): c.auroc for c in cells if c.labels == 0}
    after = {(c.name, c.draw): c.auroc for c in cells if c.labels == n_labels}
    both = before.keys() & after.keys()
    n_harmed = sum(before[key] - after[key] > HARM for key in both)
    return f"{way}: {n_labels} answers left {n_harmed} of {len(both)} draws more than two points below none"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks patches", description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("build/pictures"), help="sets that lie in files")
    parser.add_argument("--out", type=Path, default=Path("build/patches.jsonl"), help="finished cells, one a line")
    parser.add_argument("--sets", default="", metavar="A,B", help=f"of: {', '.join(SETS)}")
    parser.add_argument("--labels", default="0,10,20", metavar="A,B", help="numbers of answers")
    parser.add_argument("--draws", type=int, default=3, metavar="N", help="random splits of each set")
    parser.add_argument("--memory", action="store_true", help="a memory of patches beside it, on the same features")
    parser.add_argument("--only-print", action="store_true", help="measure nothing")
    return parser
