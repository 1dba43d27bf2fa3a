"""The report is one file and the page has a server, so each has a style sheet: colours of one name are the same."""

from __future__ import annotations

import re
from importlib.resources import files

REPORT = files("soel.report") / "assets" / "page.css"
PAGE = files("soel.web") / "static" / "page.css"


def read_colours(css: str) -> dict[tuple[str, str], str]:
    """Colours by scheme ('light' or 'dark') and name."""
    light, _, rest = css.partition("@media (prefers-color-scheme: dark)")
    dark = rest.partition("\n}")[0]
    return {
        (scheme, name): " ".join(value.split())
        for scheme, block in (("light", light), ("dark", dark))
        for name, value in re.findall(r"--([\w-]+):\s*(#[0-9a-f]+|rgba?\([^)]*\));", block)
    }


def test_report_and_page_have_the_same_colours() -> None:
    report, page = (read_colours(sheet.read_text("utf-8")) for sheet in (REPORT, PAGE))
    shared = report.keys() & page.keys()
    assert len(shared) >= 20, "both schemes were found"
    assert {name: report[name] for name in shared} == {name: page[name] for name in shared}
