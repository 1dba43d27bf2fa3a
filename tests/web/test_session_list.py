"""The sessions of a folder as a page."""

from __future__ import annotations

import socket
from pathlib import Path

from playwright.sync_api import Browser

from soel.cli.main import main
from soel.web.auth import Auth
from tests.cli.conftest import Run, folder, run, table  # noqa: F401
from tests.web.accessibility import serious_findings


def test_the_page_says_where_each_session_stands(run: Run, folder: Path, tmp_path: Path, browser: Browser) -> None:  # noqa: F811
    run("set", folder, "--name", "Pumps <north>")
    (tmp_path / "damaged").mkdir()
    for name in ("config.json", "encoder.json"):
        (tmp_path / "damaged" / name).write_text("{")
    out = tmp_path / "list.html"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Auth(folder).remember_port(listener.getsockname()[1])
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        said = run("status", tmp_path, "--page", out)
    assert said.code == 0, said.err
    assert f"The page is in {out}." in said.out
    page = browser.new_page()
    page.goto(out.as_uri())
    assert page.locator("tbody tr").count() == 2
    text = page.locator("main").inner_text()
    for part in ("Pumps <north>", "table.csv", "0 of 20", "ask for questions", str(tmp_path / "damaged")):
        assert part in text
    assert page.get_by_role("link", name="open its page").get_attribute("href") == address
    assert serious_findings(page) == []
    assert main(["status", str(tmp_path), "--page", str(out)]) == 0
    assert "open its page" not in out.read_text(), "nobody listens any more"
    assert f"soel label {folder}" in out.read_text()
