"""`python -m benchmarks.faults FILE [--seconds N]`: the faults in parts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.faults.command import go_on

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("kept", type=Path, metavar="FILE")
parser.add_argument("--seconds", type=float, default=float("inf"))
given = parser.parse_args()
sys.exit(go_on(given.kept, given.seconds))
