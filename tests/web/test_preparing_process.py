"""`soel label` on a folder of pictures, as processes: the page at once, stopped, killed, gone on with."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from soel.files import mark
from soel.images.extract import extract
from soel.images.source import open_source
from soel.session import create
from tests.web.accessibility import violations
from tests.web.browser import LabelCommand
from tests.web.pictures import N_DISCS, Brightness, write_discs


class Visit:
    """A browser without a window."""

    def __init__(self, link: str) -> None:
        self.address, _, key = link.partition("/enter?key=")
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.first = self.get("/enter", urllib.parse.urlencode({"key": key}).encode())

    def get(self, path: str, body: bytes | None = None) -> str:
        with self._opener.open(self.address + path, body, timeout=60) as answer:
            content: bytes = answer.read()
        return content.decode()

    def wait_for(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        until = time.monotonic() + 120
        now: dict[str, Any] = json.loads(self.get("/api/preparation"))
        while not condition(now):
            assert time.monotonic() < until, now
            time.sleep(0.05)
            now = json.loads(self.get("/api/preparation"))
        return now


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabelCommand]:
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    write_discs(tmp_path / "discs")
    command = LabelCommand(tmp_path / "discs", module="tests.web.slow_pictures")
    yield command
    command.stop()


def test_the_page_is_there_at_once_and_nothing_is_lost(command: LabelCommand, tmp_path: Path) -> None:
    folder = tmp_path / "discs.soel"
    visit = Visit(command.start())
    assert "/static/preparing.js" in visit.first
    assert visit.wait_for(lambda now: now["done"] >= 16 and now["what"] == "extract")["total"] == N_DISCS
    assert command.process is not None
    assert "torch" not in Path(f"/proc/{command.process.pid}/maps").read_text()
    command.process.send_signal(signal.SIGINT)
    out, _ = command.process.communicate(timeout=60)
    assert "what was computed is kept" in out
    assert not folder.exists()
    assert command.start().startswith(visit.address), "an open page finds the server again"
    assert "/static/preparing.js" in visit.get("/"), "and its user is known"
    assert visit.wait_for(lambda now: now["what"] == "extract")["done"] >= 32, "it goes on where it was"
    command.kill()  # the process that makes the session lives on, and is joined
    command.start()
    visit.wait_for(lambda now: now["stage"] == "ready")
    assert "/static/label.js" in visit.get("/")
    with closing(create.open_session(folder)) as session:
        assert len(session.ids) == N_DISCS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "discs", "discs.soel"]


def test_a_killed_preparation_is_told_and_goes_on_where_it_was(command: LabelCommand, tmp_path: Path) -> None:
    folder = tmp_path / "discs.soel"
    write_discs(command.data, 2 * N_DISCS)
    visit = Visit(command.start())
    for n_done in (16, 32):  # the second time, the server goes too
        wait_for_pictures(visit, n_done)
        os.kill(maker_of(command), signal.SIGKILL)
        now = visit.wait_for(lambda now: now["stage"] == "failed")
        assert "Nothing is lost; start it again" in now["error"]
        assert not folder.exists()
        if n_done == 16:
            visit.get("/api/preparation", b"{}")
    half, backup = tmp_path / ".discs.soel-0123abcd", tmp_path / ".discs.soel-backup"
    half.mkdir()  # as a process leaves it that is killed while it writes
    mark(half)
    backup.mkdir()  # of the same kind of name, but somebody else's
    command.kill()
    command.start()
    assert visit.wait_for(lambda now: now["what"] == "extract")["done"] >= 48, "it goes on where it was"
    visit.wait_for(lambda now: now["stage"] == "ready")
    assert sorted(path.name for path in tmp_path.iterdir()) == [backup.name, "cache", "discs", "discs.soel"]
    undisturbed = extract(open_source(tmp_path / "discs"), Brightness())
    with closing(create.open_session(folder)) as session:
        np.testing.assert_array_equal(session.folder.pool, undisturbed.matrix)


def wait_for_pictures(visit: Visit, n_done: int) -> None:
    visit.wait_for(lambda now: now["what"] == "extract" and now["done"] >= n_done)


def maker_of(command: LabelCommand) -> int:
    """The process that makes the session: a child of the command."""
    assert command.process is not None
    parents = {path.parent.name: path.read_text().rsplit(")", 1)[1].split()[1] for path in processes()}
    (child,) = [int(name) for name, parent in parents.items() if parent == str(command.process.pid)]
    return child


def processes() -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]


def break_pictures(command: LabelCommand, tmp_path: Path) -> None:
    """Pictures by name only: what is wrong with them is found when they are read."""
    command.data, command.options = tmp_path / "broken", ("--budget", "3")
    command.data.mkdir()
    (command.data / "disc 000.png").write_bytes(b"no picture")


def test_what_goes_wrong_is_told_on_the_page(command: LabelCommand, tmp_path: Path) -> None:
    break_pictures(command, tmp_path)
    visit = Visit(command.start())
    now = visit.wait_for(lambda now: now["stage"] == "failed")
    assert "disc 000.png" in now["error"]
    assert command.process is not None
    command.process.send_signal(signal.SIGINT)
    command.process.communicate(timeout=60)
    assert not list(tmp_path.glob("*.soel*")), "nothing stays behind"


def test_a_browser_goes_on_to_labelling_by_itself(command: LabelCommand, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(command.start())
    expect(page.locator("#waiting-count")).to_contain_text(re.compile(rf"^\d+ of {N_DISCS}"))
    expect(page.locator("#waiting-title")).to_have_text("Computing what the pictures look like")
    expect(page.locator("#live")).to_contain_text("Computing")
    assert page.locator("#waiting-bar").get_attribute("max") == str(N_DISCS)
    assert Axe().run(page).violations_count == 0
    expect(page.locator("#meter")).to_be_attached()
    expect(page).to_have_title("Label · discs")
    page.context.close()


def test_a_browser_tries_again_when_the_fault_is_mended(
    command: LabelCommand, browser: Browser, tmp_path: Path
) -> None:
    break_pictures(command, tmp_path)
    page = browser.new_context().new_page()
    page.goto(command.start())
    expect(page.locator("#waiting-title")).to_have_text("The session could not be prepared")
    expect(page.locator("#waiting-words")).to_contain_text("disc 000.png")
    assert violations(page) == []
    write_discs(command.data, 5)
    page.get_by_role("button", name="Try again").click()
    expect(page).to_have_title("Label · broken")
    page.context.close()
