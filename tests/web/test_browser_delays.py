"""Short stories in a real browser while every request and reply is late, and one in five is lost: nothing differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.web.conftest import build_page
from tests.web.live_server import serving
from tests.web.troubled import Story

pytestmark = pytest.mark.usefixtures("fake")
N_STORIES, MOST = 12, 400  # milliseconds; `python -m benchmarks page_delays` waits up to 2 s, 200 times


@pytest.mark.parametrize("seed", range(N_STORIES))
def test_the_page_and_the_server_agree_at_the_end(browser: Browser, tmp_path: Path, seed: int) -> None:
    with serving(build_page(tmp_path, budget=20)) as live:
        assert Story(live, browser, seed, MOST).run() == []
