"""The size and the coupling of the package stay below their ceilings."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import size


@pytest.fixture(scope="module")
def measured() -> dict[str, int]:
    return size.measure()


@pytest.mark.parametrize("name", size.CEILINGS)
def test_every_figure_is_below_its_ceiling(measured: dict[str, int], name: str) -> None:
    assert measured[name] <= size.CEILINGS[name]


def test_a_small_tree_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "src/soel/__init__.py": "",
        "src/soel/top/__init__.py": "",
        "src/soel/top/a.py": "from soel.low import b\nimport soel.low.c\n",
        "src/soel/low/__init__.py": "",
        "src/soel/low/b.py": "class One: ...\n\ndef late():\n    from soel.low.c import one\n",
        "src/soel/low/c.py": "one = 1\n\nclass One: ...\n",
        "src/soel_paper/__init__.py": "",
        "src/soel_paper/c.py": "",
        "tests/low/test_b.py": "x = 1\n" * 5,
        "docs/page.md": "three plain words\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(size, "count_options", dict)
    assert size.measure(tmp_path) == {
        "lines of src": 9,
        "files": 8,
        "packages": 2,
        "imports between packages": 2,
        "modules with one importer": 1,
        "module names twice": 1,
        "class names twice": 1,
        "words of docs": 3,
        "lines of tests": 5,
    }
