from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from soel.profiles import AUTHORS, DEFAULT, Profile
from soel_reproduction import code_state
from soel_reproduction.cells import Cell, Setting
from soel_reproduction.code_state import bare, closure, code_of, whole_code
from soel_reproduction.methods import FIXMATCH, NINE, SOEL, knn
from soel_reproduction.page import Section, write_page
from soel_reproduction.reproduce import Plan
from soel_reproduction.runner import pending, run
from soel_reproduction.sources import Source
from soel_reproduction.store import CellStore

CELL = Cell("breastw", SOEL, AUTHORS, Setting(), 40)
PLAIN = """
def add(a, b):
    if a is None:
        raise ValueError("a is missing")
    return a + b
"""
SAME = '''"""About numbers."""

# A comment.
def add(a,
        b):
    """Their sum."""
    if a is None:
        raise ValueError(f"{a} is missing")

    return a + b
'''


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package that may be edited."""
    left_out = shutil.ignore_patterns("__pycache__", "static", "templates")
    for package in code_state.OURS:
        shutil.copytree(code_state.ROOT / package, tmp_path / package, ignore=left_out)
    monkeypatch.setattr(code_state, "ROOT", tmp_path)
    forget()
    yield tmp_path / "soel"
    forget()


def forget() -> None:
    for remembered in (code_state.digest_of, code_state._statements, code_state._file):
        remembered.cache_clear()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    forget()


def test_docstrings_comments_layout_and_words_of_errors_do_not_count() -> None:
    assert bare(PLAIN) == bare(SAME)
    assert bare(PLAIN) != bare(SAME.replace("a + b", "a - b"))


def test_a_cell_depends_on_what_computes_it() -> None:
    found = closure(["soel_reproduction.experiment"])
    assert {"soel.training.loop", "soel.engines.local", "soel.data.encoder", "soel_reproduction.protocols"} <= found
    assert not {"soel_reproduction.page", "soel.web", "soel.api.workspace", "soel.features.extract"} & found


def test_a_part_makes_old_only_the_cells_that_use_it(copy: Path) -> None:
    hybrid, diverse = (replace(CELL, method=method) for method in (NINE[7], SOEL))
    before = [code_of(hybrid), code_of(diverse), whole_code()]
    edit(copy / "objectives" / "refinement.py", "STEEPNESS = 10.0", "STEEPNESS = 11.0")
    after = [code_of(hybrid), code_of(diverse), whole_code()]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, False]


@pytest.mark.parametrize(
    ("companion", "same"), [("angular.py", [True, False, False]), ("neighbours.py", [False, True, False])]
)
def test_parts_for_other_rows_make_nothing_old(copy: Path, companion: str, same: list[bool]) -> None:
    cells = [replace(CELL, profile=DEFAULT, dataset=name) for name in ("breastw", "cifar10", "a-file-of-ours")]
    before = [code_of(cell) for cell in cells]
    edit(copy / "detectors" / companion, "import numpy", "import math\nimport numpy")
    assert [code_of(cell) == known for cell, known in zip(cells, before, strict=True)] == same


def test_what_all_cells_share_makes_all_old(copy: Path) -> None:
    cells = [CELL, replace(CELL, profile=DEFAULT), replace(CELL, method=knn(1)), replace(CELL, method=FIXMATCH[0])]
    before = [code_of(cell) for cell in cells]
    edit(copy / "metrics" / "__init__.py", "import", "import math\nimport")
    assert not set(before) & {code_of(cell) for cell in cells}


def test_a_docstring_makes_nothing_old(copy: Path) -> None:
    before = whole_code()
    edit(copy / "training" / "loop.py", '"""Warm-up and fit', '"""Warm up and fit')
    assert whole_code() == before


def test_the_values_of_a_profile_make_nothing_old_but_what_it_does_with_them_does(copy: Path) -> None:
    before = whole_code()
    edit(copy / "profiles.py", 'name="authors"', 'name="authors, once more"')
    assert whole_code() == before
    edit(copy / "profiles.py", "n_features <= WIDE", "n_features < WIDE")
    assert whole_code() != before


def test_peers_and_augmentations_count_where_they_are_used(copy: Path) -> None:
    cells = [CELL, replace(CELL, method=knn(1)), replace(CELL, method=FIXMATCH[0])]
    before = [code_of(cell) for cell in cells]
    edit(copy.parent / "soel_reproduction" / "peers.py", "k: int = 10", "k: int = 11")
    edit(copy.parent / "soel_reproduction" / "augment.py", "HOLE = 0.5", "HOLE = 0.6")
    assert [code_of(cell) == known for cell, known in zip(cells, before, strict=True)] == [True, False, False]


def made_old(store: CellStore, cell: Cell) -> None:
    store.write(cell, {"f1": 0.123}, 1.0)
    (path,) = store.folder.glob(f"{cell.key}.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": "another"}))


def test_cells_of_other_code_are_computed_again_with_a_word(
    source: Source, quick: Profile, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, cell = CellStore(tmp_path), replace(CELL, profile=quick, method=NINE[3])
    made_old(store, cell)
    assert store.is_old(cell)
    with caplog.at_level(logging.WARNING):
        run([cell], source, store, 1)
    assert "1 of 1 cells were finished by other code" in caplog.text
    assert not store.is_old(cell)
    assert store.read(cell)["f1"] != 0.123


def test_or_kept_on_demand(source: Source, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = CellStore(tmp_path)
    made_old(store, CELL)
    run([CELL], source, store, 1, keep_old=True)
    assert (store.read(CELL)["f1"], caplog.text) == (0.123, "")
    assert pending([CELL], store) == [[CELL]]


def test_the_page_says_what_other_code_computed(source: Source, quick: Profile, tmp_path: Path) -> None:
    sections = [Section("cover-radius", Plan(quick, ("diverse",), ("breastw",), (3,), n_seeds=2))]
    write_page(tmp_path / "a.md", tmp_path / "out", source, 1, sections=sections)
    assert f"Computed by code state `{whole_code()}`: 2 of 2 cells." in (tmp_path / "a.md").read_text()
    path = next((tmp_path / "out" / "cells").iterdir())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": "another"}))
    write_page(tmp_path / "b.md", tmp_path / "out", source, 0, sections=sections)
    text = (tmp_path / "b.md").read_text()
    assert "1 of 2 cells." in text
    assert "`authors`: 1 of 2" in text


def test_a_later_cell_of_other_code_wins_a_merge(tmp_path: Path) -> None:
    here, there = CellStore(tmp_path / "here" / "cells"), CellStore(tmp_path / "there" / "cells")
    made_old(here, CELL)
    there.write(CELL, {"f1": 0.7}, 1.0)
    assert here.merge([tmp_path / "there"]) == 1
    assert here.read(CELL) == {"f1": 0.7}
    assert there.merge([tmp_path / "here"]) == 0
