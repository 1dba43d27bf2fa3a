"""One version number; lock files that fit the declared requirements and carry a digest for every package."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts import licences, lock

import soel

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def read_pins(path: Path) -> dict[str, str]:
    """Versions by package of a lock or of the constraints."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\\n]+)", path.read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def requirements(*extras: str) -> list[Requirement]:
    """What the project asks for with these extras, and with the extras that those name."""
    project = PROJECT["project"]
    found = [Requirement(text) for text in project["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, project["optional-dependencies"][extra]):
            found += requirements(*requirement.extras) if requirement.name == "soel" else [requirement]
    return found


def test_the_version_is_written_once() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "soel.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", soel.__version__)
    assert soel.__version__ not in (ROOT / "CITATION.cff").read_text()


RUN_TIME = sorted(set(PROJECT["project"]["optional-dependencies"]) - set(lock.NOT_RUN_TIME))


@pytest.mark.parametrize(("name", "extras"), lock.LOCKS.items())
def test_the_lock_meets_every_requirement(name: str, extras: list[str]) -> None:
    pins = read_pins(ROOT / "lock" / f"{name}.txt") | read_pins(ROOT / "lock" / "torch.txt")
    unmet = [
        str(requirement)
        for requirement in requirements(*extras)
        if not requirement.specifier.contains(pins.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert unmet == [], "run `make lock`"


@pytest.mark.parametrize("name", ["audit", *lock.LOCKS, "torch", "torch-cpu"])
def test_every_locked_package_has_digests(name: str) -> None:
    blocks = (ROOT / "lock" / f"{name}.txt").read_text().replace("\\\n", "").splitlines()[1:]
    assert blocks
    assert [block.split()[0] for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", block)] == []


@pytest.mark.parametrize("name", lock.LOCKS)
def test_locks_and_constraints_agree(name: str) -> None:
    constraints, pins = read_pins(ROOT / "constraints.txt"), read_pins(ROOT / "lock" / f"{name}.txt")
    assert {package: pin for package, pin in pins.items() if constraints.get(package) != pin} == {}


def test_both_builds_of_torch_are_of_one_version() -> None:
    build, cpu = (read_pins(ROOT / "lock" / f"{name}.txt")["torch"] for name in ("torch", "torch-cpu"))
    assert cpu.split("+") == [build, "cpu"]


def test_the_page_of_licences_is_what_packages_declare() -> None:
    if sys.platform != "linux":
        pytest.skip("other platforms install other packages")
    missing = [name for name in ("av", "fastapi", "psycopg", "ray") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    assert licences.PAGE.read_text() == licences.render(), "run `make licences`"


def test_no_run_time_package_is_without_a_licence() -> None:
    assert [name for name in licences.packages() if licences.licence(name)[0] == "none declared"] == []


def test_workflows_cover_the_declared_pythons() -> None:
    classifiers = PROJECT["project"]["classifiers"]
    declared = {c.split(" :: ")[-1] for c in classifiers if re.search(r":: 3\.\d+$", c)}
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    matrix = workflow["jobs"]["everything"]["strategy"]["matrix"]
    assert set(matrix["python"]) == declared
    assert set(matrix["os"]) == {"ubuntu-latest", "macos-latest"}


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_what_the_workflows_call_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = [word for words in re.findall(r"make ((?:[a-z]+ ?)+)$", path.read_text(), re.M) for word in words.split()]
    assert yaml.safe_load(path.read_text())
    assert set(called) <= targets
