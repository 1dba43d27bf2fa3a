"""ARCHITECTURE.md is true as far as a machine can tell: packages, names and parts are those of the code."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.ask import STRATEGIES
from soel.assess import ESTIMATORS
from soel.detect import DETECTORS
from soel.networks import BACKBONES
from soel.networks.objectives import OBJECTIVES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MOST_WORDS = 40
LONGEST_FILE = 400


def section(title: str) -> str:
    """The text below a heading."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def layers() -> list[set[str]]:
    """The packages by the import contract, from the top."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    return [set(re.split(r"\s*[|:]\s*", line)) for line in contract["layers"]]


def test_the_drawing_is_the_import_contract() -> None:
    drawing = section("Packages").partition("```text\n")[2].partition("```")[0]
    drawn = []
    for line in drawing.splitlines():
        packages = re.split(r"\s{2,}", line)[0]  # what stands behind says what a package is for
        drawn += [set(re.split(r"\s*[|:]\s*", layer)) for layer in re.split(r"\s*>\s*", packages) if layer]
    assert drawn == layers()


def test_every_package_that_is_named_is_there() -> None:
    packages = set.union(*layers())
    table = [line.split("|")[2] for line in section("Flow").splitlines() if line.startswith("| ")][1:]
    assert table
    assert {name.strip() for cell in table for name in cell.split(",")} <= packages
    placed = set(re.findall(r"`(\w+)`", section("Where does my line go?")))
    assert placed <= packages
    assert {"ask", "assess", "session", "tables"} <= placed


def test_modules_and_members_that_are_named_are_there() -> None:
    classes = {
        node.name: node
        for path in (ROOT / "src" / "soel").rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    dotted = set(re.findall(r"`([A-Za-z]\w*\.[a-z]\w*)`", PAGE)) - {"pyproject.toml"}
    modules = {name for name in dotted if name[0].islower() and not name.startswith("soel.")}
    for name in modules:
        import_module(f"soel.{name}")
    for name in {name for name in dotted if name[0].isupper()}:
        owner, _, member = name.partition(".")
        assert member in {getattr(part, "name", "") for part in classes[owner].body}, name
    assert set(re.findall(r"`([A-Z]\w+)`", PAGE)) <= set(classes)


def test_parts_come_by_the_entry_points_that_are_named() -> None:
    groups = {registry.group for registry in (BACKBONES, ESTIMATORS, DETECTORS, OBJECTIVES, STRATEGIES)}
    assert set(re.findall(r"`(soel\.[a-z]+)`", section("Adding a part"))) - {"soel.testing"} == groups


def test_the_glossary_is_short() -> None:
    rows = [line.split("|")[1] for line in section("Words").splitlines() if line.startswith("| ")][1:]
    words = [word.strip() for row in rows for word in row.split(",")]
    assert len(set(words)) == len(words) <= MOST_WORDS


def test_no_file_is_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert {str(path.relative_to(ROOT)) for path, n in lengths.items() if n > LONGEST_FILE} == set()
