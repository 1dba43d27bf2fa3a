"""A real Chromium, installed when it is missing and we may, and the command `soel label` in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
NAMES = ("chromium", "chromium-browser", "google-chrome")
SOURCE = Path(__file__).parents[2] / "src"


def find_chromium() -> str:
    """The path of a Chromium; without one the test is skipped, but never where CI=true."""
    found = _find()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", *words], check=False, capture_output=True)
        found = _find()
    if found is None:
        reason = "there is no Chromium and it cannot be installed here; install the package chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def _find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class LabelCommand:
    """`soel label DATA`, to be started, killed and started again."""

    data: Path
    options: tuple[str, ...] = ()
    module: str = "soel.cli.main"
    process: subprocess.Popen[str] | None = field(default=None)

    def start(self) -> str:
        """Start it; returns the one-time link it prints."""
        words = [sys.executable, "-m", self.module, "label", str(self.data), "--no-browser", *self.options]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join((str(SOURCE), str(SOURCE.parent))),
            "OMP_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"no link in {line!r}"
        return found.group()

    def kill(self) -> None:
        """Kill -9."""
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self) -> None:
        """End it if it still runs."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
