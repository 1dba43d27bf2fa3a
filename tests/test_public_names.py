"""The one public namespace: what it promises is there, typed, documented, and costs nothing until it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import soel

SOURCE = Path(soel.__file__)


@pytest.mark.parametrize("name", soel.__all__)
def test_every_public_name_is_there_and_says_what_it_is_for(name: str) -> None:
    value = getattr(soel, name)
    assert name == "PROFILES" or value.__doc__


def test_the_list_is_what_is_found_and_what_type_checkers_see() -> None:
    checked = next(node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If))
    seen = [alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(soel.__all__) == sorted(soel._HOME_OF) == sorted(seen)
    assert dir(soel) == sorted([*soel.__all__, "__version__"])


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'soel' has no attribute 'nothing'"):
        _ = soel.nothing


def test_importing_soel_imports_nothing_else() -> None:
    heavy = ("numpy", "torch", "sklearn", "soel.types")
    code = f"import sys, soel; sys.exit(any(name in sys.modules for name in {heavy}))"
    subprocess.run([sys.executable, "-c", code], check=True)
