"""Every public name has a caller: in the package, in the page's templates and scripts, or in what is documented."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import soel

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
DOCUMENTS = ("README.md", "docs/**/*.md", "benchmarks/**/*.py", "pretraining/**/*.py")
PAGES = ("src/**/*.html", "src/**/*.js")
PUBLIC_CLASSES = {
    base.__name__ for name in soel.__all__ if isinstance(public := getattr(soel, name), type) for base in public.__mro__
}
HOOKS = {"load_context", "redirect_request"}  # called by mlflow and by urllib
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def _defined(tree: ast.Module) -> Iterator[str]:
    """Public functions, classes and constants of a module, and the public members of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not node.decorator_list or isinstance(node, ast.ClassDef) or not _is_registered(node):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _targets(node)
        if isinstance(node, ast.ClassDef) and node.name not in PUBLIC_CLASSES:  # their members are for everybody
            members = (m for m in node.body if isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef))
            yield from (m.name for m in members if not _is_registered(m))


def _is_registered(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a decorator hands the function to somebody who calls it: a route, a handler, a validator."""
    plain = {"property", "cached_property", "staticmethod", "classmethod", "contextmanager", "abstractmethod", "cache"}
    return any(_last(decorator) not in plain for decorator in node.decorator_list)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _targets(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(part, ast.Name):
                yield part.id


def _used(name: str, tree: ast.Module) -> Iterator[str]:
    """What a module reads, calls, imports to use, or names in a string; __all__ and a room's door do not count."""
    is_door = name.endswith("__init__.py") and name != "soel/__init__.py"
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    exported = next((n for n in tree.body if isinstance(n, ast.Assign) and "__all__" in set(_targets(n))), None)
    hidden = {id(node) for node in ast.walk(exported)} if exported is not None and is_door else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and not is_door:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts | hidden:
            yield from _WORD.findall(node.value)


def _entry_points() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["scripts"], *project.get("entry-points", {}).values()]
    return {target.rpartition(":")[2] for group in groups for target in group.values()}


def find_dead_names() -> list[str]:
    """'module: name' for every public name that nobody uses."""
    modules = list(_modules())
    known = HOOKS | _entry_points()
    known |= {word for name, tree in modules for word in _used(name, tree)}
    for pattern in (*DOCUMENTS, *PAGES):
        for path in ROOT.glob(pattern):
            known |= set(_WORD.findall(path.read_text(encoding="utf-8")))
    return [
        f"{module}: {name}"
        for module, tree in modules
        for name in _defined(tree)
        if not name.startswith("_") and name not in known and not module.startswith("soel/testing")
    ]


def test_every_public_name_has_a_caller() -> None:
    assert find_dead_names() == []


def test_the_search_finds_what_nobody_uses() -> None:
    tree = ast.parse(
        'def used():\n    "dead"\n\n\ndef dead(): ...\n\n\nclass Part:\n    def idle(self): ...\n\n\nused(Part)'
    )
    assert set(_defined(tree)) - set(_used("room/part.py", tree)) == {"dead", "idle"}
