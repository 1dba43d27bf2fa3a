"""Measure the size and the coupling of the package: `python -m scripts.size [FOLDER]`, in another checkout too.

`CEILINGS` is what the tests hold the tree to. Lines are counted as `ruff format` leaves them.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("soel", "soel_paper")
WRITTEN = {"licences", "results"}  # pages of tables that commands write
COMMON = {"--help", "--json", "--debug"}
CEILINGS = {
    "lines of src": 43_150,
    "files": 232,
    "packages": 17,
    "imports between packages": 946,
    "modules with one importer": 42,
    "module names twice": 2,
    "class names twice": 0,
    "verbs": 23,  # with serve, watch and models
    "options": 126,
    "options of init": 19,
    "options of label": 19,
    "words of docs": 30_250,
    "lines of tests": 37_950,
}


def measure(folder: Path = ROOT) -> dict[str, int]:
    """Every figure of `CEILINGS` for a checkout."""
    sources = read_sources(folder)
    edges = imports(sources)
    between = {(a, b) for a, b in edges if package_of(a) != package_of(b)}
    importers = Counter(imported for _, imported in edges)
    paths = [path for path, _ in sources.values()]
    plain = [name for name, (path, _) in sources.items() if path.name != "__init__.py"]
    classes = Counter(
        node.name
        for _, tree in sources.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {
        "lines of src": sum(map(count_lines, paths)),
        "files": len(sources),
        "packages": sum(path.name == "__init__.py" for path in paths) - len(PACKAGES),
        "imports between packages": len(between),
        "modules with one importer": sum(importers[name] == 1 for name in plain),
        "module names twice": repeated(Counter(name.rpartition(".")[2] for name in plain)),
        "class names twice": repeated(classes),
        **count_options(),
        "words of docs": sum(
            len(path.read_text(encoding="utf-8").split())
            for path in sorted((folder / "docs").rglob("*.md"))
            if path.stem not in WRITTEN
        ),
        "lines of tests": sum(count_lines(path) for path in sorted((folder / "tests").rglob("*.py"))),
    }


Sources = dict[str, tuple[Path, ast.Module]]


def read_sources(folder: Path) -> Sources:
    """Every module below `src`: its file and its tree."""
    paths = sorted((folder / "src").rglob("*.py"))
    return {module_name(path, folder): (path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths}


def module_name(path: Path, folder: Path) -> str:
    """The dotted name of a file below `src`."""
    return ".".join(path.relative_to(folder / "src").with_suffix("").parts).removesuffix(".__init__")


def package_of(module: str) -> str:
    """The part below `soel` that a module belongs to: a package or a module of its own."""
    return ".".join(module.split(".")[:2])


def imports(sources: Sources) -> set[tuple[str, str]]:
    """Which module imports which, wherever in the file."""
    found: set[tuple[str, str]] = set()
    for name, (_, tree) in sources.items():
        for node in ast.walk(tree):
            found |= {(name, target) for target in _targets(node, sources) if target != name}
    return found


def _targets(node: ast.AST, known: Sources) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif isinstance(node, ast.ImportFrom) and node.module in known:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name for name in inner if name in known)
        if any(name not in known for name in inner):
            yield str(node.module)


def count_options() -> dict[str, int]:
    """Verbs and their options on the command line of this checkout, without those that every verb has."""
    import argparse

    from soel.cli.main import build_parser

    verbs: dict[str, argparse.ArgumentParser] = {}
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            verbs |= action.choices
    options = {
        name: {action.option_strings[-1] for action in verb._actions if action.option_strings}
        for name, verb in verbs.items()
    }
    own = {name: flags - COMMON for name, flags in options.items()}
    return {
        "verbs": len(verbs),
        "options": sum(map(len, own.values())),
        "options of init": len(own["init"]),
        "options of label": len(own["label"]),
    }


def count_lines(path: Path) -> int:
    """All lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def repeated(names: Counter[str]) -> int:
    """How many names occur more than once."""
    return sum(n > 1 for n in names.values())


def main(folder: Path = ROOT) -> int:
    """Print every figure beside its ceiling, then each package with its lines and what it imports how often."""
    for name, value in measure(folder).items():
        sys.stdout.write(f"{name:28} {value:7,} of at most {CEILINGS[name]:7,}\n")
    trees, lines = read_sources(folder), Counter[str]()
    for name, (path, _) in trees.items():
        lines[package_of(name)] += count_lines(path)
    pairs = Counter((package_of(a), package_of(b)) for a, b in imports(trees) if package_of(a) != package_of(b))
    for package, n in lines.most_common():
        others = ", ".join(f"{b.removeprefix('soel.')} {n}" for (a, b), n in sorted(pairs.items()) if a == package)
        sys.stdout.write(f"{package:18} {n:6,}  {others}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
