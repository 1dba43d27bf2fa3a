"""Which code a cell was computed by: a digest of the statements that its figures depend on.

A cell depends on what `experiment` imports, directly or not, and on the parts that its own method names. So a change
to one strategy makes the cells of that strategy old and no others. Docstrings, comments, layout and the words of
errors do not count. Neither do profiles and modules that only describe (`DESCRIBING`): what they say is in a cell's
key, or in the key of the features' cache.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from soel.backbones import BACKBONES
from soel.contamination import ESTIMATORS
from soel.detectors import DETECTORS
from soel.objectives import OBJECTIVES
from soel.profiles import WIDE
from soel.queries import STRATEGIES
from soel.registry import Registry
from soel_reproduction.cells import Cell

ROOT = Path(__file__).parents[1]  # of both packages
OURS = ("soel", "soel_reproduction")
DIGITS = 12
EXPERIMENT, PEERS, AUGMENTED = "soel_reproduction.experiment", "soel_reproduction.peers", "soel_reproduction.fixmatch"
ASSUMPTIONS = "soel_reproduction.assumptions"
DESCRIBING = frozenset(
    {
        "soel", "soel.errors", "soel.registry", "soel_reproduction",
        "soel.backbones", "soel.objectives", "soel.queries", "soel.contamination", "soel.detectors",
        "soel.data.catalogue", "soel.data.download",
        "soel_reproduction.cells", "soel_reproduction.methods", "soel_reproduction.data_settings",
        "soel_reproduction.store", "soel_reproduction.code_state", "soel_reproduction.pictures",
        PEERS, AUGMENTED, ASSUMPTIONS,
    }
)  # fmt: skip


def code_of(cell: Cell) -> str:
    """The state of the code that this cell's figures depend on."""
    method = cell.method
    extra = [(method.peer, PEERS), (method.augmented, AUGMENTED), (cell.setting.stage == "assumptions", ASSUMPTIONS)]
    return digest_of((EXPERIMENT, *_parts(cell), *(module for needed, module in extra if needed)))


def whole_code() -> str:
    """The state of all code that any cell may depend on."""
    registries = (BACKBONES, OBJECTIVES, STRATEGIES, ESTIMATORS, DETECTORS)
    parts = [_module_of(registry, name) for registry in registries for name in registry]
    return digest_of((EXPERIMENT, PEERS, AUGMENTED, ASSUMPTIONS, *(part for part in parts if part)))


@lru_cache(maxsize=256)
def digest_of(modules: tuple[str, ...]) -> str:
    """A digest of these modules and of everything of ours that they import."""
    found = hashlib.sha256()
    for name in sorted(closure(modules)):
        found.update(f"{name}\n{_statements(name)[0]}\n".encode())
    return found.hexdigest()[:DIGITS]


def closure(modules: Iterable[str]) -> set[str]:
    """These modules and those they import, directly or not; describing ones only where they were named."""
    waiting, seen = list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [other for other in _statements(name)[1] if other not in DESCRIBING]
    return seen


def bare(source: str) -> str:
    """The statements of a source text without what cannot change a figure."""
    return ast.unparse(_Bare().visit(ast.parse(source)))


def _parts(cell: Cell) -> Iterator[str]:
    """The modules of the parts that the cell's profile names for its kind of rows; every estimator: cells show all."""
    profile = cell.settled
    widths = {"table": (WIDE,), None: (WIDE, WIDE + 1)}.get(cell.kind, (WIDE + 1,))
    strategies = {profile.strategy_for(width)[0] for width in widths}
    companions = {profile.schedule(width).companion for width in widths} - {None}
    backbone = "ntl" if profile.backbone == "auto" else profile.backbone
    named = [(BACKBONES, backbone), (OBJECTIVES, profile.objective), *((ESTIMATORS, name) for name in ESTIMATORS)]
    named += [(STRATEGIES, name) for name in sorted(strategies)]
    named += [(DETECTORS, name) for name in sorted(map(str, companions))]
    for registry, name in named:
        module = _module_of(registry, name)
        if module is not None:
            yield module


def _module_of(registry: Registry, name: str) -> str | None:
    """None for a part of another package: its code is not ours to know."""
    module = registry.module(name)
    return module if module is not None and module.startswith("soel.") else None


@lru_cache(maxsize=256)
def _statements(name: str) -> tuple[str, tuple[str, ...]]:
    """A module's bare statements, and the modules of ours that it imports."""
    path = _file(name)
    assert path is not None, name
    source = path.read_text(encoding="utf-8")
    return bare(source), tuple(sorted(set(_imports(ast.parse(source)))))


def _imports(tree: ast.AST) -> Iterator[str]:
    """Every module of ours that is imported anywhere in the tree, with the packages it lies in."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            steps = name.split(".")
            parents = [".".join(steps[:end]) for end in range(1, len(steps) + 1)]
            yield from (parent for parent in parents if _file(parent) is not None)


@lru_cache(maxsize=1024)
def _file(module: str) -> Path | None:
    steps = module.split(".")
    place = ROOT.joinpath(*steps)
    candidates = (place / "__init__.py", place.with_suffix(".py"))
    return next((path for path in candidates if path.is_file()), None) if steps[0] in OURS else None


class _Bare(ast.NodeTransformer):
    """Drops docstrings, what is said when something is raised, and the values of a module's profiles."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """A profile is in the key of every cell computed with it."""
        node.body = [statement for statement in node.body if not _names_profile(statement)]
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Only that it is raised counts."""
        return ast.copy_location(ast.Raise(exc=None, cause=None), node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Without the docstring of a module, class or function."""
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            assert isinstance(body, list)
            node.body = body[1:] or [ast.Pass()]
        return node


def _names_profile(statement: ast.stmt) -> bool:
    """Whether it is of the form `NAME = Profile(...)`."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Profile"
