"""Stories in a browser whose requests and replies are late or lost: `python -m benchmarks page_delays`.

Each labels, corrects, takes back, writes notes and reloads, while every request and every reply waits 0 to 2 s and one
in five is lost on its way there or back. `agreeing`: the share of stories at whose end page and server said the same.
Stories that were told stand in build/page_delays.jsonl until all are: a run that was killed goes on with the others.
"""

from __future__ import annotations

import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cell_files import as_line, read_cells

TOLD = Path("build/page_delays.jsonl")
N_STORIES, WORKERS, MOST_MS = 200, 4, 2000  # they mostly wait, so more of them than cores run at once
FLOORS = {"agreeing": 1.0}


@dataclass(frozen=True)
class Told:
    """What differed at the end of one story, or what stopped it."""

    seed: int
    differences: list[str]


def measure() -> dict[str, float]:
    told = read_cells(TOLD, Told)
    left = sorted(set(range(N_STORIES)) - {each.seed for each in told})
    TOLD.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(WORKERS) as pool, TOLD.open("a", encoding="utf-8") as file:
        for done in as_completed([pool.submit(tell, seed) for seed in left]):
            told.append(done.result())
            file.write(as_line(told[-1]))
            file.flush()
    sys.stderr.writelines(f"{difference}\n" for each in told for difference in each.differences)
    n_different = sum(bool(each.differences) for each in told)
    TOLD.unlink()
    return {"stories": float(len(told)), "different": float(n_different), "agreeing": 1 - n_different / len(told)}


def tell(seed: int) -> Told:
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
                return Told(seed, Story(live, browser, seed, MOST_MS).run())
            except Exception as error:
                return Told(seed, [f"seed {seed}: {type(error).__name__}: {error}"])
            finally:
                browser.close()
