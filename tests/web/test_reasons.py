"""Why an item scores as it does, on the page: with a real detector over the pumps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from soel.explain import Explainer, Explanation
from soel.report import reasons
from soel.report.facts import gather_report
from soel.report.page import write_report
from soel.report.reasons import keep_reasons, read_reasons
from soel.session import Answer
from soel.tables.frame import Frame
from soel.tables.rows import write_rows
from soel.types import Floats, Verdict
from tests.web.accessibility import violations
from tests.web.conftest import Page, build_page
from tests.web.live_server import Live, serving
from tests.web.sample_data import COLUMNS, make_pumps, write_pumps


@pytest.fixture(scope="module")
def pumps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A session that has learnt from six answers, with four more items open."""
    place = tmp_path_factory.mktemp("reasons")
    failing = write_pumps(place / "pumps.csv", 150, 12)
    page = build_page(place, place / "pumps.csv", budget=10, threshold="alarms=12")
    session = page.view_model.session
    for item in session.state.open[:6]:
        session.tell([Answer(item, Verdict.ANOMALY if item in failing else Verdict.NORMAL)], "expert")
    page.work.start("fit")
    with serving(page) as live:
        yield live


@pytest.fixture
def page(pumps: Live) -> Page:
    return pumps.page


def test_items_are_explained_before_the_first_label_and_after(tmp_path: Path) -> None:
    page = build_page(tmp_path)
    session = page.view_model.session
    kept = read_reasons(session)
    assert set(session.state.open) <= set(kept["items"])
    assert kept["patterns"] is None
    before = {path.name for path in (tmp_path / "session" / "outcomes").iterdir()}
    page.label_all()
    assert read_reasons(session)["patterns"]["n_alarms"] > 0
    assert len({path.name for path in (tmp_path / "session" / "outcomes").iterdir()} - before) == 2
    session.close()


def test_no_row_is_explained_twice(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    explained, explain = [], Explainer.explain

    def count(explainer: Explainer, frame: Frame, features: Floats) -> Explanation:
        explained.append(len(features))
        return explain(explainer, frame, features)

    monkeypatch.setattr(Explainer, "explain", count)
    monkeypatch.setattr(reasons, "read_reasons", lambda session: reasons.NOTHING)
    kept = reasons.explain_session(page.view_model.session)
    assert kept["patterns"]["n_alarms"] > 0
    assert sum(explained) == len(kept["items"])


def test_an_unusual_open_item_has_reasons_in_the_users_language(page: Page) -> None:
    item = next(item for item in page.view_model.session.state.open if page.get("/api/reasons", id=item)["fields"])
    fields = page.get("/api/reasons", id=item)["fields"]
    assert 1 <= len(fields) <= 5
    assert "a similar ordinary row has" in fields[0]["words"]
    assert all("rank" not in field["words"] for field in fields)  # who labels is not told how the item ranks
    columns = set(page.view_model.items.columns())
    assert all(field["name"].split(" (")[0] in {column.split(" (")[0] for column in columns} for field in fields)
    page.client.headers["accept-language"] = "de"
    assert "gewöhnliche Zeile" in page.get("/api/reasons", id=item)["fields"][0]["words"]
    del page.client.headers["accept-language"]


def test_what_others_said_is_not_told_by_resemblance(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    session = page.view_model.session
    item = next(iter(read_reasons(session)["resembles"]))
    assert page.get("/api/reasons", id=item)["resembles"]["verdict"] in ("anomaly", "normal")
    kept = read_reasons(session)
    assert "verdict" not in json.dumps(kept)
    blind = replace(session.state, answers={})
    monkeypatch.setattr(page.view_model, "view_for", lambda user: blind)
    assert page.get("/api/reasons", id=item)["resembles"] is None
    assert all(each["resembles"] is None for each in page.get("/api/items", alarms=True)["items"])


def test_alarms_are_listed_with_reasons_and_what_they_have_in_common(page: Page) -> None:
    first = page.get("/api/items", alarms=True)["items"][0]
    assert re.search("it would be ordinary: rank \\d+ instead of 1", first["why"])
    assert all(re.search(" [↑↓≠] ", chip["text"]) for chip in first["chips"])
    for each in page.get("/api/items", alarms=True)["items"]:
        assert (each["resembles"] is None) == (each["verdict"] is not None)  # what is labelled is like itself
    found = page.get("/api/results")["view"]["in_common"]
    assert found["words"][0].startswith("Looked at: 12 of 12 alarms")
    assert 1 <= len(found["groups"]) <= 5
    assert all("alarms, such as P-" in pattern for pattern in found["patterns"])


def test_rows_without_names_are_called_by_their_numbers(tmp_path: Path) -> None:
    rows, _ = make_pumps(150, 12)
    write_rows(tmp_path / "readings.csv", COLUMNS[1:], [row[1:] for row in rows])
    page = build_page(tmp_path, tmp_path / "readings.csv", id_column=None)
    page.label_all()
    session = page.view_model.session
    assert all(re.search(r"such as #\d+", group) for group in page.get("/api/results")["view"]["in_common"]["patterns"])
    listed = [each["why"] + each["details"] for each in page.get("/api/items")["items"]]
    asked = [field["words"] for item in session.ids for field in page.get("/api/reasons", id=item)["fields"]]
    assert not [words for words in listed + asked if any(item in words for item in session.ids)]
    session.close()


def test_a_session_without_a_model_says_nothing(page: Page, tmp_path: Path) -> None:
    new = build_page(tmp_path, prepared=False)
    keep_reasons(new.view_model.session)
    assert read_reasons(new.view_model.session)["items"] == {}
    assert not any(each["why"] for each in new.get("/api/items")["items"])
    assert new.get("/api/reasons", id=new.view_model.session.ids[0])["fields"] == []
    new.view_model.session.close()


def test_the_report_says_why(page: Page, tmp_path: Path) -> None:
    text = write_report(gather_report(page.view_model.session), tmp_path / "report.html").read_text(encoding="utf-8")
    assert "most like P-" in text
    assert "alarms, such as P-" in text


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 320, "height": 640}}])
def test_reasons_in_a_browser(browser: Browser, pumps: Live, look: dict[str, Any]) -> None:
    page, api = pumps.open(browser, **look), pumps.page
    item = next(each for each in api.view_model.session.state.open if api.get("/api/reasons", id=each)["fields"])
    page.goto(f"{pumps.address}/?item={item}")
    panel = page.locator("#reasons-panel")
    expect(panel).to_be_visible()
    expect(panel.locator(".field").first).to_contain_text("a similar ordinary row has")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.goto(f"{pumps.address}/results", wait_until="networkidle")  # the script has run
    expect(page.locator("#drivers li").first).to_be_visible()
    expect(page.locator("#top .chips").first).to_contain_text(re.compile(" [↑↓≠] "))
    page.locator("#top .item-link").first.click()
    expect(page.locator("#chosen .changed").first).to_be_visible()
    expect(page.locator("#chosen")).to_contain_text("instead of")
    assert violations(page) == []
    page.context.close()
