"""The site builds without network and without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import soel
import soel.testing
from soel.cli.main import build_parser

ROOT = Path(__file__).parents[2]
BUILD = """
import socket, sys

def refuse(*args):
    raise OSError("the site is built without network")

socket.socket.connect = socket.getaddrinfo = refuse
from sphinx.cmd.build import build_main
sys.exit(build_main(["--fail-on-warning", "--keep-going", "--fresh-env", "--quiet", *sys.argv[1:]]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason="the extra `docs` is not installed")
    out = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    arguments = ["-d", str(out / "doctrees"), str(ROOT / "docs"), str(out / "html")]
    done = subprocess.run([sys.executable, "-c", BUILD, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out / "html"


def test_every_page_is_in_the_site(site: Path) -> None:
    sources = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in sources if not (site / page.with_suffix(".html")).exists()] == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loads = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//')
    assert [page.name for page in site.rglob("*.html") if loads.search(page.read_text())] == []


def test_the_reference_names_every_public_name(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text()
    assert [name for name in soel.__all__ if not re.search(rf'id="soel\.(?:[a-z_]+\.)*{name}"', text)] == []


def test_the_reference_names_every_verb_and_kit(site: Path) -> None:
    verbs = next(action.choices for action in build_parser()._actions if action.dest == "verb")
    assert verbs
    text = (site / "reference" / "command-line.html").read_text()
    assert [verb for verb in verbs if f'id="soel-{verb}"' not in text] == []
    kits = [name for name in soel.testing.__all__ if name.startswith("check_")]
    text = (site / "reference" / "python.html").read_text()
    assert [name for name in kits if f'.{name}"' not in text] == []


def test_every_promise_names_tests_that_are_there() -> None:
    rows = [row for row in (ROOT / "docs" / "security.md").read_text().splitlines() if row.startswith("| ")]
    promises = rows[: next(place for place, row in enumerate(rows) if "Jupyter" in row)]
    for row in promises:
        named = re.findall(r"`(test_\w+\.py)(?:::\w+)?`", row)
        assert named or "held by" in row, row
        assert [name for name in named if not any((ROOT / "tests").rglob(name))] == []
        for file, function in re.findall(r"`(test_\w+\.py)::(\w+)`", row):
            texts = [path.read_text() for path in (ROOT / "tests").rglob(file)]
            assert any(f"def {function}(" in text for text in texts), function
