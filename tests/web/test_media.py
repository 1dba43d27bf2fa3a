"""Pictures and frames on the page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from soel.images import picture_pool
from soel.images.picture_pool import MediaOptions
from soel.images.source import Reading
from tests.session.fake_learner import use_fake_learner
from tests.web.conftest import Page, build_page
from tests.web.pictures import Brightness, write_belt, write_discs


@pytest.fixture(scope="module", params=["image", "video"])
def media(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Page]]:
    place = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        use_fake_learner(patch)
        patch.setattr(picture_pool, "open_extractor", lambda _: Brightness())
        patch.setenv("SOEL_CACHE", str(place / "cache"))
        page = build_pictures(place, request.param)
        yield request.param, page
        page.view_model.session.close()


def build_pictures(place: Path, kind: str, **options: Any) -> Page:
    """A page over discs, or over the frames of a belt."""
    if kind == "image":
        write_discs(place / "discs")
        return build_page(place, table=place / "discs", id_column=None, **options)
    write_belt(place / "clip")
    reading = MediaOptions(reading=Reading(frame_rate=6))
    return build_page(place, table=place / "clip", id_column=None, media=reading, **options)


def test_a_picture_is_shown_by_its_id(media: tuple[str, Page]) -> None:
    kind, page = media
    item = page.view_model.session.ids[3]
    shown = page.get("/api/item", id=item)
    assert (shown["kind"], shown["fields"]) == (kind, [])
    answer = page.client.get("/api/image", params={"id": item, "size": 100})
    assert answer.headers["content-type"] == "image/jpeg"
    assert max(Image.open(io.BytesIO(answer.content)).size) <= 256
    for size in (15, 2049):
        assert page.client.get("/api/image", params={"id": item, "size": size}).status_code == 422


def test_a_browser_keeps_a_picture_and_asks_whether_it_is_still_the_same(media: tuple[str, Page]) -> None:
    _, page = media
    one, other = page.view_model.session.ids[:2]
    first = page.client.get("/api/image", params={"id": one})
    assert "no-cache" in first.headers["cache-control"]
    tag = {"if-none-match": first.headers["etag"]}
    same = page.client.get("/api/image", params={"id": one}, headers=tag)
    assert (same.status_code, same.content) == (304, b"")
    changed = page.client.get("/api/image", params={"id": other}, headers=tag)  # as after `add --replace`
    assert (changed.status_code, changed.content == first.content) == (200, False)


def test_no_id_is_a_path(media: tuple[str, Page]) -> None:
    _, page = media
    for name in ("../discs/disc 001.png", "disc 001.png", "/etc/passwd", "belt/frame 001.png", "\0"):
        assert page.client.get("/api/image", params={"id": name}).status_code == 404


def test_frames_come_with_the_seconds_around_them(media: tuple[str, Page]) -> None:
    kind, page = media
    item = page.view_model.session.ids[20]
    frames = page.get("/api/item", id=item)["frames"]
    if kind == "image":
        assert frames == []
        return
    seconds = [frame["seconds"] for frame in frames]
    assert seconds == sorted(seconds)
    assert seconds[0] < 0 < seconds[-1] <= 2
    assert {"item": item, "seconds": 0.0} in frames


def test_neighbours_are_the_labelled_ones_that_look_alike(media: tuple[str, Page]) -> None:
    _, page = media
    items = page.view_model.session.state.open
    page.post("/api/answers", item=items[0], verdict="anomaly")
    title = page.view_model.items.title(items[0])
    near = [{"item": items[0], "title": title, "verdict": "anomaly"}]
    assert page.get("/api/item", id=items[1])["neighbours"] == near
    told = page.get("/api/decisions")["decisions"][0]
    assert (told["title"], told["kind"], title.endswith(".png")) == (title, media[0], True)
    assert page.get("/api/item", id=items[0])["neighbours"] == []
    page.undo()
