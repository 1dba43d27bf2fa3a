"""What a screen reader would stumble over, in whatever state a page is."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# A name needs a role that can carry it, on hidden parts too: they may be shown before their script has filled them.
NAMELESS = """() => [...document.querySelectorAll("[aria-label], [aria-labelledby]")].filter((node) => {
  const ids = (node.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
  const text = (id) => document.getElementById(id)?.textContent ?? "";
  const name = node.getAttribute("aria-label") ?? ids.map(text).join("");
  const carries = "a[href], aside, button, dialog, form, input, nav, progress, section, select, table, textarea"
    + ", [role]";
  return !node.matches(carries) || !name.trim();
}).map((node) => node.outerHTML.slice(0, 120))"""


def serious_findings(page: Page) -> list[Any]:
    """Every finding that would keep somebody out: which rule, and where."""
    found = Axe().run(page).response["violations"]
    told = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in told]


def violations(page: Page) -> list[Any]:
    """Serious findings of axe, and names that nothing carries, on hidden parts too."""
    return [*serious_findings(page), *page.evaluate(NAMELESS)]
