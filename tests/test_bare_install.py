"""With nothing installed but what `pip install soel` brings, the command line runs its whole loop.

A process in which every other package cannot be imported: those that lock/demo.txt does not name.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "lock" / "demo.txt"
BLOCKED = """
import re, sys
from importlib.metadata import packages_distributions
names = {re.sub("[-_.]+", "-", name).lower() for name in sys.argv[1].split(",")}
modules = {
    module
    for module, owners in packages_distributions().items()
    if not any(re.sub("[-_.]+", "-", owner).lower() in names for owner in owners)
}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in modules:
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Blocked())
"""
LOOP = """
import csv
from pathlib import Path
from soel.cli.main import main
folder = Path(sys.argv[2])
data = folder / "demo" / "cells.csv"
def run(*words):
    assert main([str(word) for word in words]) == 0, words
run("demo", "--out", folder / "demo")
run("look", data)
run("init", folder / "work", "--data", data, "--id-column", "id")
run("ask", folder / "work")
sheet = next((folder / "work").glob("round-*.csv"))
rows = list(csv.DictReader(sheet.open()))
with sheet.open("w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows([{**row, "label": ["normal", "anomaly"][number % 2]} for number, row in enumerate(rows)])
run("tell", folder / "work", sheet)
run("fit", folder / "work")
run("score", folder / "work", "--threshold", "alarms=20", "--why")
run("score", folder / "work", "--data", data)
run("report", folder / "work")
run("status", folder / "work", "--json")
"""


def test_the_loop_needs_no_package_that_the_base_does_not_bring(tmp_path: Path) -> None:
    pins = {"soel", *re.findall(r"^([A-Za-z0-9._-]+)==", LOCK.read_text(), re.MULTILINE)}
    command = [sys.executable, "-c", BLOCKED + LOOP, ",".join(pins), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
