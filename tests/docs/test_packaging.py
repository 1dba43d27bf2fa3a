"""One version number; lock files that fit the declared requirements and carry a digest for every package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


@pytest.mark.parametrize(("lock", "extra"), [("demo", "report"), ("test", "dev")])
def test_the_lock_meets_every_requirement(lock: str, extra: str) -> None:
    pins = read_pins(ROOT / "lock" / f"{lock}.txt") | read_pins(ROOT / "lock" / "torch.txt")
    unmet = [
        str(requirement)
        for requirement in requirements(extra)
        if not requirement.specifier.contains(pins.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert unmet == [], "run `make lock`"


@pytest.mark.parametrize("lock", ["demo", "test", "torch", "torch-cpu"])
def test_every_locked_package_has_digests(lock: str) -> None:
    blocks = (ROOT / "lock" / f"{lock}.txt").read_text().replace("\\\n", "").splitlines()[1:]
    assert blocks
    assert [block.split()[0] for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", block)] == []


@pytest.mark.parametrize("lock", ["demo", "test"])
def test_locks_and_constraints_agree(lock: str) -> None:
    constraints, pins = read_pins(ROOT / "constraints.txt"), read_pins(ROOT / "lock" / f"{lock}.txt")
    assert {name: version for name, version in pins.items() if constraints.get(name) != version} == {}


def test_both_builds_of_torch_are_of_one_version() -> None:
    build, cpu = (read_pins(ROOT / "lock" / f"{name}.txt")["torch"] for name in ("torch", "torch-cpu"))
    assert cpu.split("+") == [build, "cpu"]
