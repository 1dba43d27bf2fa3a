"""`python -m benchmarks.fuzz [READER ...] [--files N] [--first N] [--keep FILE --seconds N]`: a part of the fuzz."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.fuzz.command import N_FILES, NAMES, go_on, measure

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("names", nargs="*", default=list(NAMES), help=", ".join(NAMES))
parser.add_argument("--files", type=int, default=N_FILES)
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--keep", type=Path, metavar="FILE", help="keep every batch here, and go on where it ends")
parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no batch after so long; with --keep")
given = parser.parse_args()
if given.keep is not None:
    sys.exit(go_on(given.keep, given.seconds, given.files, given.first, given.names))
sys.exit(measure(given.files, given.first, given.names)["hundred_less_defects"] < 100)
