"""Breaks a package's code in one place at a time and runs its tests: a mutant that survives shows what no test holds.

`python -m benchmarks.mutants PACKAGE [FILE ...] --mutants 10 --seed 0`. A mutant has one operator, comparison or number
exchanged, in a copy of the package; the seed draws them from all its places. `--keep FILE` keeps every verdict, and
the next call goes on where FILE ends.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[1]
UNCHANGED = -1
SECONDS = 150  # of processor time: a mutant that takes longer than the package's tests ever do is noticed, too
PACKAGES = ("numpy", "scipy.stats", "sklearn.datasets", "sklearn.preprocessing", "pandas", "torch")
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """path: the module, relative to `src`. number: which of its places. line, change: for a reader."""

    path: str
    number: int
    line: int
    change: str


def find_mutants(path: str, source: str) -> list[Mutant]:
    """All mutants of a module: none in annotations, texts, messages of errors, or what only names things."""
    return [
        Mutant(path, number, line, change) for number, (line, change) in enumerate(_changes(ast.parse(source), None))
    ]


def write_mutant(source: str, number: int) -> str:
    """The module with its change of this number made."""
    tree = ast.parse(source)
    for _ in _changes(tree, number):
        pass
    return ast.unparse(tree)


def _changes(tree: ast.AST, wanted: int | None) -> Iterator[tuple[int, str]]:
    """Each place of the tree in order, with what would change there; the wanted one is changed."""
    for number, (node, field, at, new) in enumerate(_places(tree)):
        value = getattr(node, field)
        old = value if at is None else value[at]
        yield getattr(node, "lineno", 0), f"{_name(old)} -> {_name(new)} in {ast.unparse(node)[:80]}"
        if number == wanted:
            if at is None:
                setattr(node, field, new)
            else:
                value[at] = new


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, object]]:
    """(node, its field, which entry if the field is a list, what comes there instead), depth first."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        yield node, "op", None, SWAPS[type(node.op)]()
    if isinstance(node, ast.Compare):
        yield from ((node, "ops", at, SWAPS[type(op)]()) for at, op in enumerate(node.ops))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield node, "value", None, _other(node.value)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _places(child)


def _other(value: float) -> float:
    if isinstance(value, bool):
        return not value
    return value + 1 if value < 2 else value * 2


def _name(thing: object) -> str:
    return type(thing).__name__ if isinstance(thing, ast.AST) else repr(thing)


def draw(package: str, files: list[str], n: int, seed: int) -> list[Mutant]:
    """So many mutants of a package, from places that the seed chooses."""
    folder = ROOT / "src" / "soel" / package
    paths = sorted(path for path in folder.rglob("*.py") if not files or path.name in files)
    found = [each for path in paths for each in find_mutants(str(path.relative_to(ROOT / "src")), path.read_text())]
    return random.Random(seed).sample(found, min(n, len(found)))


def survives(mutant: Mutant, tests: list[str]) -> bool:
    """Whether the tests pass although the code is broken. They run in a fork: large packages are loaded once."""
    os.environ.setdefault("SCIPY_ARRAY_API", "1")  # as the tests want it, before scipy is loaded
    for name in PACKAGES:
        import_module(name)
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "src", Path(scratch) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        module = Path(scratch) / "src" / mutant.path
        module.write_text(write_mutant(module.read_text(), mutant.number))
        child = os.fork()
        if child == 0:
            _run_tests(Path(scratch) / "src", tests)
        return os.waitpid(child, 0)[1] == 0


def _run_tests(source: Path, tests: list[str]) -> NoReturn:
    """Be the process that runs them, quietly and for so long; its end is its answer."""
    code = 1
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # a busy machine is no reason to end
        signal.alarm(10 * SECONDS)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.chdir(ROOT)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(source), str(ROOT)])  # for the processes that tests start
        sys.path[:0] = [str(source), str(ROOT)]
        for name in [name for name in sys.modules if name.split(".")[0] in ("soel", "tests")]:
            del sys.modules[name]
        code = int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(code)


def main(words: list[str]) -> int:
    """Print who survived; 0 when nobody did and all have had their turn, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("files", nargs="*", help="names of modules; all of the package when none is named")
    parser.add_argument("--tests", nargs="*", help="what to run; by default the package's tests")
    parser.add_argument("--mutants", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after so long")
    given = parser.parse_args(words)
    mutants = draw(given.package, given.files, given.mutants, given.seed)
    lines = given.keep.read_text().splitlines() if given.keep is not None and given.keep.exists() else []
    alive = {Mutant(**mutant): survived for mutant, survived in map(json.loads, lines)}
    end, tests = time.monotonic() + given.seconds, given.tests or [f"tests/{given.package}"]
    if set(mutants) - set(alive) and given.seconds > 0 and not survives(replace(mutants[0], number=UNCHANGED), tests):
        raise RuntimeError(f"{' '.join(tests)} fails on the code as it is; mend that first.")
    for mutant in mutants:
        if mutant not in alive and time.monotonic() < end:
            alive[mutant] = survives(mutant, tests)
            if given.keep is not None:
                with given.keep.open("a") as file:
                    file.write(json.dumps([vars(mutant), alive[mutant]]) + "\n")
    tried = [mutant for mutant in mutants if mutant in alive]
    survivors = [mutant for mutant in tried if alive[mutant]]
    for mutant in survivors:
        print(f"survived: {mutant.path}:{mutant.line}: {mutant.change}")
    n_killed, n_left = len(tried) - len(survivors), len(mutants) - len(tried)
    print(f"{given.package}: {n_killed} of {len(tried)} killed, {n_left} to come.")
    return int(bool(survivors) or len(tried) < len(mutants))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
