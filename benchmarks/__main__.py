"""`python -m benchmarks [NAME ...]`: run, print, write JSON, fail when a ratio is below its recorded floor.

`python -m benchmarks because --help`: what it is worth that an expert names the column that is why.
`python -m benchmarks detection --help`: detection on folders of labelled tables, soel beside others.
`python -m benchmarks explanations --help`: do explanations name planted values, and suffice for real anomalies.
`python -m benchmarks patches --help`: small defects in pictures, by the whole picture, by patches and by both.
`python -m benchmarks promises --help`: what soel says in numbers, nominal against realised, over the same tables.
`python -m benchmarks watch --help`: a quarter of nights, with an expert who answers alarms.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.picture import draw

NAMES = (
    "training",
    "deepod_ntl",
    "diverse_query",
    "features",
    "kill_tells",
    "faults",
    "tell_latency",
    "page_delays",
    "startup",
    "default_speed",
    "large",
    "kinds_of_fraud",
    "gpu_epoch",
    "messy",
    "drift",
    "fuzz",
    "serve",
)
COMMANDS = ("because", "detection", "explanations", "patches", "promises", "watch")


def main() -> int:
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:  # their figures are means, without a floor, and they have options
        return _command(*sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NAMES), help="which benchmarks; all when none is named")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks.json"))
    parser.add_argument("--picture", type=Path, help="draw the figures that have a floor as an SVG")
    arguments = parser.parse_args()
    results, floors, failures = {}, {}, []
    for name in arguments.names:
        module = import_module(f"benchmarks.{name}")
        figures, floors[name] = module.measure(), module.FLOORS
        results[name] = figures
        for figure, value in figures.items():
            floor = module.FLOORS.get(figure)
            print(f"{name:15s} {figure:32s} {value:10.3f}" + (f"   floor {floor}" if floor is not None else ""))
            if floor is not None and value < floor:
                failures.append(f"{name}.{figure} is {value:.3f}, below its floor {floor}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(results, indent=1))
    if arguments.picture is not None:
        arguments.picture.write_bytes(draw(results, floors))
    for failure in failures:
        print(f"benchmarks: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _command(name: str, *words: str) -> int:
    from soel import SoelError

    try:
        return int(import_module(f"benchmarks.{name}.command").main(words))
    except SoelError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
