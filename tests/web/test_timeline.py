"""Clips on the results page: scores over time, events, and the frame that one jumps to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from soel.report.facts import gather_report
from soel.report.page import write_report
from tests.images.test_patches import PlaceExtractor
from tests.session.fake_learner import use_fake_learner
from tests.web.accessibility import violations
from tests.web.conftest import MakePage, Page
from tests.web.live_server import serving
from tests.web.pictures import Brightness
from tests.web.test_media import build_pictures


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    use_fake_learner(monkeypatch)
    monkeypatch.setattr("soel.images.picture_pool.open_extractor", lambda _: Brightness())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    built = build_pictures(tmp_path, "video")
    built.label_all()
    yield built
    built.view_model.session.close()


def test_a_session_knows_the_clip_and_the_second_of_each_frame(clips: Page) -> None:
    session = clips.view_model.session
    moments = session.folder.moments
    assert moments is not None
    assert moments.shape == (len(session.ids), 2)
    assert moments[:, 1].max() > 1


def test_the_time_line_has_every_frame_in_time_and_its_events(clips: Page) -> None:
    scores = sorted(clips.view_model.items.title(item) for item in clips.view_model.session.ids)
    threshold = clips.get("/api/results")["view"]["threshold"]
    found = clips.get("/api/timeline", threshold=threshold)
    frames = [frame for clip in found for frame in clip["frames"]]
    assert len(frames) == len(scores)
    for clip in found:
        seconds = [frame["second"] for frame in clip["frames"]]
        assert seconds == sorted(seconds)
        for event in clip["events"]:
            assert event["start"] <= event["peak"] <= event["end"]
            assert event["score"] > threshold
            assert event["item"] in {frame["item"] for frame in clip["frames"]}
    n_events = sum(len(clip["events"]) for clip in found)
    assert 1 <= n_events < sum(frame["score"] > threshold for frame in frames)
    lines = clips.client.get("/api/intervals.csv", params={"threshold": threshold}).text.splitlines()
    assert lines[0].replace(chr(34), "") == "clip,start,end,peak,score,n_alarms"
    assert len(lines) == 1 + n_events


def test_rows_have_no_time_line(make_page: MakePage) -> None:
    page = make_page()
    page.label_all()
    assert page.get("/api/timeline") == []


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_an_event_leads_to_its_frame(browser: Browser, clips: Page, look: str) -> None:
    size = {"width": 390, "height": 844} if look == "phone" else {"width": 1280, "height": 900}
    with serving(clips) as live:
        opened = live.open(browser, viewport=size, color_scheme="dark" if look == "dark" else "light")
        missing: list[str] = []
        opened.on("response", lambda response: missing.append(response.url) if response.status == 404 else None)
        opened.goto(f"{live.address}/results")
        expect(opened.locator("#timeline-no-maps")).to_contain_text("patches=yes")  # frames have no maps by default
        button = opened.locator(".events button").first
        button.click()
        frame = opened.locator("#timeline-frame img")
        expect(frame).to_be_visible()
        assert opened.evaluate("document.querySelector('#timeline-frame img').decode().then(() => true)")
        expect(opened.locator("#timeline-frame a")).to_have_attribute("href", re.compile("item="))
        opened.locator("svg.timeline").first.click(position={"x": 20, "y": 20})
        expect(opened.locator("#timeline-frame h3")).to_contain_text("0:0")
        line = opened.locator("svg.timeline").first
        line.focus()
        opened.keyboard.press("End")
        last = line.get_attribute("aria-valuemax")
        expect(line).to_have_attribute("aria-valuenow", str(last))
        opened.keyboard.press("ArrowLeft")
        expect(line).to_have_attribute("aria-valuenow", str(int(str(last)) - 1))
        expect(opened.locator("#timeline-frame h3")).to_contain_text(str(line.get_attribute("aria-valuetext")))
        expect(frame).to_be_in_viewport()
        assert violations(opened) == []
        assert missing == []  # no map is asked for that cannot be
        if "SOEL_PICTURES" in os.environ:
            opened.locator("#timeline-panel").screenshot(
                path=str(Path(os.environ["SOEL_PICTURES"]) / f"time-{look}.png")
            )


def test_the_report_shows_events_and_pictures_with_their_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soel.images.picture_pool.open_extractor", lambda _: PlaceExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    for kind in ("image", "video"):
        (tmp_path / kind).mkdir()
        built = build_pictures(tmp_path / kind, kind)
        built.label_all()
        text = write_report(gather_report(built.view_model.session), tmp_path / f"{kind}.html").read_text(
            encoding="utf-8"
        )
        pictures = "data:image/png" if kind == "image" else "data:image/jpeg"  # frames are not looked at by places
        assert len(re.findall(f'class="picture" alt="[^"]+" src="{pictures}', text)) == 20
        assert ("Events in clips" in text) is (kind == "video")
        assert ("The stronger the colour, the less this place" in text) is (kind == "image")
        session = built.view_model.session
        titles = [built.view_model.items.title(item) for item in session.ids]
        shown = re.findall('<bdi class="item">([^<]+)</bdi>', text)  # in both tables of items
        assert len(shown) > 10
        assert set(shown) <= {*titles, "belt"}  # the clip of the events
        assert not any(item in text for item in session.ids)
        assert ".items.csv" not in text  # a list of ours that nobody wrote
        built.view_model.session.close()
