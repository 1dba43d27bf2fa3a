"""Every code block of the README, of the docs and of docstrings runs as printed."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.blocks import FENCE, RUN, SHOWN, find_blocks, run_page

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if any(b.language in RUN and not b.not_run for b in find_blocks(page.read_text()))]
MODULES = [path for path in sorted((ROOT / "src").rglob("*.py")) if "\n    >>> " in path.read_text()]
# What cannot run in a test, by page: `<!-- not run: why -->` stands before the block.
NOT_RUN: dict[str, list[str]] = {
    "docs/cite.md": ["data to be fetched, and minutes to hours"],
    "docs/images-and-video.md": ["data to be fetched, and an hour"],
    "docs/labelling-page.md": ["it serves until it is stopped", "it serves until it is stopped"],
    "docs/reproduce.md": ["data to be fetched, and minutes to hours"],
    "docs/scale.md": ["a cluster and a bucket that you have"],
    "docs/serve.md": ["Java and Spark"],
    "docs/sessions.md": ["a database that you have"],
    "docs/tutorials/page.md": ["it serves until it is stopped"],
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SOEL_TOKEN", "a token of the tests")
    run_page(page)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_the_examples_of_docstrings_are_true(path: Path) -> None:
    module = import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    tried = doctest.testmod(module)
    assert (tried.failed, tried.attempted > 0) == (0, True)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_block_says_its_language(page: Path) -> None:
    unknown = [b.line for b in find_blocks(page.read_text()) if b.language not in (*RUN, *SHOWN)]
    assert unknown == [], f"lines of {name(page)}: a block is one of {', '.join((*RUN, *SHOWN))}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_text_hides_no_code(page: Path) -> None:
    shown = "".join(b.text for b in find_blocks(page.read_text()) if b.language in SHOWN)
    assert re.findall(r"^ *(?:soel|import|from) .*", shown, re.MULTILINE) == []


def test_the_blocks_that_do_not_run_are_known() -> None:
    marked = {name(page): [b.not_run for b in find_blocks(page.read_text()) if b.not_run] for page in PAGES}
    assert {page: reasons for page, reasons in marked.items() if reasons} == NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_is_fenced(page: Path) -> None:
    prose = FENCE.sub("", page.read_text())
    assert re.findall(r"^ {4,}(?:soel|python|pip|make|import|from) .*", prose, re.MULTILINE) == []


def test_a_page_that_lies_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError):
        run_page(page)
    page.write_text("```shell\nsoel status nowhere\n```\n")
    with pytest.raises(AssertionError, match="ended with 2"):
        run_page(page)
