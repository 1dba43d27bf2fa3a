"""The command: which tables, which contestants, how many labels; prints the tables of the summary."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.detection.cells import run_cells
from benchmarks.detection.contestants import CONTESTANTS
from benchmarks.detection.summary import summarise
from benchmarks.detection.tasks import find_tables
from soel.errors import ConfigError
from soel.report.progress import progress_bar

REFERENCE = "soel default"


def main(words: Sequence[str]) -> int:
    """Run what is missing, then print."""
    arguments = _parser().parse_args(words)
    names = arguments.methods.split(",") if arguments.methods else list(CONTESTANTS)
    unknown = [name for name in names if name not in CONTESTANTS]
    if unknown:
        raise ConfigError(f"There is no contestant {unknown[0]!r}. Choose among: {', '.join(CONTESTANTS)}.")
    missing = [name for name in names if CONTESTANTS[name].is_missing]
    paths = find_tables(arguments.data_dir or [Path(os.environ.get("SOEL_DATA", "."))])[: arguments.tables]
    budgets = [int(word) for word in arguments.budgets.split(",")]
    with progress_bar("detection") as progress:
        present = [name for name in names if name not in missing]
        cells = run_cells(paths, present, budgets, arguments.out, arguments.jobs, progress)
    tables = {path.stem for path in paths}
    shown = [cell for cell in cells if cell.table in tables and cell.method in present]
    print(summarise(shown, budgets, REFERENCE))
    for name in missing:
        print(f"\nLeft out: {name}, because {CONTESTANTS[name].package} is not installed.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks detection", description=__doc__)
    parser.add_argument("--data-dir", type=Path, nargs="+", metavar="DIR", help="folders of .npz files with X and y")
    parser.add_argument("--out", type=Path, default=Path("build/detection.jsonl"), help="finished cells, one a line")
    parser.add_argument("--methods", default="", metavar="A,B", help=f"of: {', '.join(CONTESTANTS)}")
    parser.add_argument("--budgets", default="0,10,20,40", metavar="A,B", help="numbers of labels")
    parser.add_argument("--tables", type=int, metavar="N", help="only the first N tables")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    return parser
