"""An expert labels in a real browser while questions follow the answers: a drawn order gives way to better items."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from soel.session.worker import Refiner
from tests.session.fake_learner import use_fake_learner
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving


@pytest.fixture
def listened_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    use_fake_learner(monkeypatch)
    with serving(build_page(tmp_path, goal="find")) as live:
        yield live


def test_the_item_after_the_next_knows_the_answer(browser: Browser, listened_to: Live) -> None:
    view_model = listened_to.page.view_model
    session, title_of = view_model.session, view_model.items.title
    drawn = session.state.open
    page = listened_to.open(browser)
    title = page.locator("#item-title")
    expect(title).to_have_text(title_of(drawn[0]))
    page.keyboard.press("n")
    expect(title).to_have_text(title_of(drawn[1]))  # at once: the next-best item
    assert Refiner(session).look(), "the answer was heard"
    better = next(item for item in session.state.open if item != drawn[1])
    assert better != drawn[2]
    page.keyboard.press("n")
    expect(title).to_have_text(title_of(better))
    page.keyboard.press("z")
    expect(title).to_have_text(title_of(drawn[1]))
