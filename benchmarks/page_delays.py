"""Stories in a browser whose requests and replies are late or lost: `python -m benchmarks page_delays`.

Each labels, corrects, takes back, writes notes and reloads, while every request and every reply waits 0 to 2 s and one
in five is lost on its way there or back. `agreeing`: the share of stories at whose end page and server said the same.
"""

from __future__ import annotations

import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

N_STORIES, WORKERS, MOST_MS = 200, 4, 2000  # they mostly wait, so more of them than cores run at once
FLOORS = {"agreeing": 1.0}


def measure() -> dict[str, float]:
    n_different = 0
    with ProcessPoolExecutor(WORKERS) as pool:
        for told in as_completed([pool.submit(tell, seed) for seed in range(N_STORIES)]):
            for difference in told.result():
                sys.stderr.write(f"{difference}\n")
            n_different += bool(told.result())
    return {"stories": float(N_STORIES), "different": float(n_different), "agreeing": 1 - n_different / N_STORIES}


def tell(seed: int) -> list[str]:
    """What differed at the end of one story, or what stopped it."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import pytest
    from playwright.sync_api import sync_playwright
    from tests.session.fake_learner import use_fake_learner
    from tests.web.browser import ARGUMENTS, find_chromium
    from tests.web.conftest import build_page
    from tests.web.live_server import serving
    from tests.web.troubled import Story

    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        sync_playwright() as playwright,
    ):
        use_fake_learner(patch)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        with serving(build_page(Path(folder), budget=20)) as live:
            try:
                return Story(live, browser, seed, MOST_MS).run()
            except Exception as error:
                return [f"seed {seed}: {type(error).__name__}: {error}"]
            finally:
                browser.close()
