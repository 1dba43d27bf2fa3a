"""Takes the pictures of docs/images from made-up data: `python -m tests.web.make_screenshots`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from soel.api import sources
from soel.api.media import open_media
from soel.session import Answer
from tests.web.browser import ARGUMENTS, find_chromium
from tests.web.conftest import build_page
from tests.web.live import Live, serving
from tests.web.made_up import write_pumps
from tests.web.pictures import SCRATCHED, Brightness
from tests.web.test_media import build_pictures

IMAGES = Path(__file__).parents[2] / "docs" / "images"
UPPER: Any = {"x": 0, "y": 0, "width": 1280, "height": 1640}  # of a long page
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 320, "height": 640}
GUIDELINE = """**Anomaly**: a pump that should be looked at within a week.

- Judge by the readings, not by the site.
- A cold start is *normal*.
"""


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        os.environ["SOEL_CACHE"] = f"{scratch}/cache"
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        _table(browser, Path(scratch) / "table")
        for kind in ("image", "video"):
            _media(browser, Path(scratch) / kind, kind)
        browser.close()


def _table(browser: Browser, place: Path) -> None:
    place.mkdir()
    failing = write_pumps(place / "pumps.csv")
    built = build_page(place, table=place / "pumps.csv", budget=14, answers_per_item=1)
    with serving(built) as live:
        session = live.page.desk.session
        session.write_guidelines(GUIDELINE)
        items = session.state.open
        for number, item in enumerate(items[:6]):
            note = "bearing replaced last week" if number == 3 else ""
            session.tell([Answer(item, "anomaly" if item in failing else "normal", note)], "expert")
        shown = next(item for item in items[6:] if item in failing)
        _shoot(live, browser, f"/?item={shown}", "label")
        _shoot(live, browser, f"/?item={shown}", "label-dark", color_scheme="dark")
        _shoot(live, browser, f"/?item={shown}", "label-phone", viewport=PHONE, has_touch=True, is_mobile=True)
        ann = live.page.visitor("Ann")
        for item in items[:5]:
            verdict = "anomaly" if item in failing ^ {items[2]} else "normal"
            ann.post("/api/answers", json={"item": item, "verdict": verdict})
        _shoot(live, browser, "/team", "team")
        for item in session.state.disagreements:
            session.decide(item, "anomaly" if item in failing else "normal", "expert")
        for item in items[6:]:
            live.page.post("/api/answers", item=item, verdict="anomaly" if item in failing else "normal")
        _shoot(live, browser, "/review", "review")
        _shoot(live, browser, "/results", "results")
        _shoot(live, browser, "/results", "results-dark", color_scheme="dark")


def _media(browser: Browser, place: Path, kind: str) -> None:
    sources.open_extractor = lambda which: Brightness()
    place.mkdir()
    with serving(build_pictures(place, kind, budget=12)) as live:
        session = live.page.desk.session
        media = open_media(session.folder)
        assert media is not None
        damaged = {item.id for item in media.items if item.name in SCRATCHED}
        for item in session.state.open[:6]:
            session.tell([Answer(item, "anomaly" if item in damaged else "normal")], "expert")
        shown = next((item for item in session.state.open if item in damaged), session.state.open[0])
        _shoot(live, browser, f"/?item={shown}", f"label-{kind}")


def _shoot(live: Live, browser: Browser, path: str, name: str, **look: Any) -> None:
    page = live.open(browser, **{"viewport": DESKTOP} | look)
    page.goto(f"{live.address}{path}")
    page.locator("#desk, #rows tr, #results, #annotators tr").filter(visible=True).first.wait_for()
    page.wait_for_load_state("networkidle")
    if path != "/results":
        page.screenshot(path=IMAGES / f"{name}.png", full_page=path in ("/review", "/team"))
    else:
        page.locator("#map").press("Enter")  # chooses the item in the middle of the map
        page.locator("#map-item h3").wait_for()
        page.locator("#headline").click()
        page.screenshot(path=IMAGES / f"{name}.png", full_page=True, clip=UPPER)
    page.context.close()


if __name__ == "__main__":
    main()
