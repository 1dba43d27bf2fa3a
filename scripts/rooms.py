"""Print the house as it is: each room with its lines of source and of tests, and which rooms it imports how often.

Run by `python -m scripts.rooms`, in another checkout too: `python -m scripts.rooms FOLDER`.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGES = ("soel", "soel_paper")


def main(folder: Path = ROOT) -> int:
    """Print one line for each room, the largest first, and one for all."""
    lines, tests = count_lines(folder)
    imports = count_imports(folder)
    for room in sorted(lines, key=lambda room: -lines[room]):
        others = ", ".join(f"{other} {n}" for (own, other), n in sorted(imports.items()) if own == room)
        sys.stdout.write(f"{room:18} {lines[room]:6} {tests[room]:6}  {others}\n")
    summary = f"{len(lines)} rooms, {len(imports)} pairs of rooms, {sum(imports.values())} imports between them"
    sys.stdout.write(f"{'all':18} {sum(lines.values()):6} {sum(tests.values()):6}  {summary}\n")
    return 0


def room_of(module: str) -> str:
    """The room of a module: the part below `soel`, or the other package."""
    package, *parts = module.split(".")
    return parts[0] if package == "soel" and parts else package


def count_lines(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines of source and of tests by room; tests mirror the rooms, and what lies beside them counts for `soel`."""
    source, tests = Counter[str](), Counter[str]()
    for package in PACKAGES:
        for path in sorted((folder / "src" / package).rglob("*.py")):
            module = ".".join(path.relative_to(folder / "src").with_suffix("").parts)
            source[room_of(module.removesuffix(".__init__"))] += _length(path)
    for path in sorted((folder / "tests").rglob("*.py")):
        first = path.relative_to(folder / "tests").parts[0]
        name = PACKAGES[1] if first == "paper" else first
        tests[name if name in source else "soel"] += _length(path)
    return source, tests


def count_imports(folder: Path) -> Counter[tuple[str, str]]:
    """How many modules of a room import how many of another: by (importer, imported)."""
    sys.path.insert(0, str(folder / "src"))
    there = [package for package in PACKAGES if (folder / "src" / package).is_dir()]
    graph = grimp.build_graph(*there, cache_dir=None)
    found = Counter[tuple[str, str]]()
    for module in graph.modules:
        found.update((room_of(module), room_of(other)) for other in graph.find_modules_directly_imported_by(module))
    return Counter({pair: n for pair, n in found.items() if pair[0] != pair[1]})


def _length(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
