"""`python -m benchmarks.fuzz [READER ...] [--files N] [--first N]`: some readers, some seeds."""

from __future__ import annotations

import argparse
import sys

from benchmarks.fuzz.command import N_FILES, NAMES, measure

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("names", nargs="*", default=list(NAMES), help=", ".join(NAMES))
parser.add_argument("--files", type=int, default=N_FILES)
parser.add_argument("--first", type=int, default=0)
given = parser.parse_args()
sys.exit(measure(given.files, given.first, given.names)["hundred_less_defects"] < 100)
