"""Takes the pictures of docs/images from made-up data: `python -m scripts.screenshots`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tests.web.browser import ARGUMENTS, find_chromium
from tests.web.conftest import build_page
from tests.web.live_server import Live, listening, serving
from tests.web.pictures import DAMAGED, Brightness, write_clip, write_discs
from tests.web.sample_data import write_pumps
from tests.web.test_preparing import Preparing

from soel.cli.demo import run_demo_session
from soel.images import picture_pool
from soel.session import Answer
from soel.session.pictures import open_media
from soel.session.worker import JobStatus
from soel.types import Verdict
from soel.web.app import create_preparing_app
from soel.web.auth import User

IMAGES = Path(__file__).parents[1] / "docs" / "images"
DESKTOP, WIDE = {"width": 1280, "height": 900}, {"width": 1440, "height": 900}
PHONE = {"width": 320, "height": 640}
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
        _preparing(browser, Path(scratch))
        _table(browser, Path(scratch) / "table")
        for kind in ("image", "video"):
            _media(browser, Path(scratch) / kind, kind)
        _report(browser, Path(scratch) / "demo")
        browser.close()


def _preparing(browser: Browser, place: Path) -> None:
    made = Preparing(place, "discs")
    made.at(0, JobStatus("extract", True, 200, 1200))
    made.at(30, JobStatus("extract", True, 640, 1200))
    with listening(lambda site: create_preparing_app(made.preparation, made.auth, site)) as address:
        page = browser.new_context(viewport={"width": 1280, "height": 360}).new_page()
        page.goto(f"{address}/enter?key={made.auth.new_key(User('expert', 'owner'))}")
        page.locator("#waiting-count:not(:empty)").wait_for()
        page.screenshot(path=IMAGES / "preparing.png")
        page.context.close()


def _table(browser: Browser, place: Path) -> None:
    place.mkdir()
    failing = write_pumps(place / "pumps.csv")
    built = build_page(place, table=place / "pumps.csv", budget=14, answers_per_item=1)
    with serving(built) as live:
        session = live.page.view_model.session
        session.write_guidelines(GUIDELINE)
        items = session.state.open
        for number, item in enumerate(items[:6]):
            note = "bearing replaced last week" if number == 3 else ""
            session.tell([Answer(item, Verdict.ANOMALY if item in failing else Verdict.NORMAL, note)], "expert")
        shown = next(item for item in items[6:] if item in failing)
        _shoot(live, browser, f"/?item={shown}", "label")
        _shoot(live, browser, f"/?item={shown}", "label-dark", color_scheme="dark")
        _shoot(live, browser, f"/?item={shown}", "label-phone", viewport=PHONE, has_touch=True, is_mobile=True)
        ann = live.page.user("Ann")
        for item in items[:5]:
            verdict = "anomaly" if item in failing ^ {items[2]} else "normal"
            ann.post("/api/answers", json={"item": item, "verdict": verdict})
        _shoot(live, browser, "/team", "team")
        for item in session.state.disagreements:
            session.decide(item, "anomaly" if item in failing else "normal", "expert")
        for item in items[6:]:
            live.page.post("/api/answers", item=item, verdict="anomaly" if item in failing else "normal")
        _shoot(live, browser, "/review", "review")
        _shoot(live, browser, "/results", "results", viewport=WIDE)
        _shoot(live, browser, "/results", "results-dark", viewport=WIDE, color_scheme="dark")


def _media(browser: Browser, place: Path, kind: str) -> None:
    setattr(picture_pool, "open_extractor", lambda which: Brightness())  # noqa: B010
    place.mkdir()
    data = place / ("discs" if kind == "image" else "belt.mp4")
    (write_discs if kind == "image" else write_clip)(data)
    with serving(build_page(place, table=data, id_column=None, budget=12)) as live:
        session = live.page.view_model.session
        media = open_media(session.folder)
        assert media is not None
        damaged = {item.id for row, item in enumerate(media.items) if _is_damaged(kind, row)}
        for item in session.state.open[:6]:
            session.tell([Answer(item, Verdict.ANOMALY if item in damaged else Verdict.NORMAL)], "expert")
        shown = next((item for item in session.state.open if item in damaged), session.state.open[0])
        _shoot(live, browser, f"/?item={shown}", f"label-{kind}")
        if kind == "image":
            _shoot(live, browser, "/review", "review-image")


def _report(browser: Browser, place: Path) -> None:
    """Of the demo, as far as a screen shows it."""
    page = browser.new_page(viewport={"width": WIDE["width"], "height": WIDE["height"]})
    page.goto(Path(run_demo_session(place)["report"]).absolute().as_uri())
    page.screenshot(path=IMAGES / "report.png")
    page.close()


def _is_damaged(kind: str, row: int) -> bool:
    return row in DAMAGED if kind == "image" else 26 <= row < 34  # frames on which the scratched disc is seen


def _shoot(live: Live, browser: Browser, path: str, name: str, **look: Any) -> None:
    page = live.open(browser, **{"viewport": DESKTOP} | look)
    page.goto(f"{live.address}{path}")
    page.locator("#labelling, #rows li, #results, #annotators tr").filter(visible=True).first.wait_for()
    page.wait_for_load_state("networkidle")
    if path == "/results":
        page.locator("#chosen .compared").wait_for()
    page.screenshot(path=IMAGES / f"{name}.png", full_page=path in ("/review", "/team"))
    page.context.close()


if __name__ == "__main__":
    main()
