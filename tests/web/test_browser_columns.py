"""The first page of a table in which something could be meant otherwise, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.web.accessibility import serious_findings
from tests.web.browser import LabelCommand
from tests.web.test_columns import write_doubtful


@pytest.fixture
def command(tmp_path: Path) -> Iterator[LabelCommand]:
    command = LabelCommand(write_doubtful(tmp_path / "doubtful.csv"))
    yield command
    command.stop()


def test_an_owner_changes_how_columns_are_read_and_then_labels(
    browser: Browser, command: LabelCommand, tmp_path: Path
) -> None:
    page = browser.new_page()
    page.goto(command.start())
    expect(page.get_by_role("heading", name="How the columns are read")).to_be_visible()
    expect(page.locator("#waiting")).to_be_hidden()
    assert not (tmp_path / "doubtful.csv.soel").exists(), "nothing is computed before"
    assert serious_findings(page) == []
    page.get_by_label("Change how pump is read").select_option("numeric")
    page.get_by_role("button", name="Start with these").click()
    expect(page.locator("#columns-error")).to_contain_text("'pump' is asked for as numbers, but 61 cells are not")
    expect(page.get_by_label("Whose labels they are")).to_be_hidden()
    page.get_by_label("Change how code is read").select_option("label")
    expect(page.get_by_label("Whose labels they are")).to_be_visible()
    page.get_by_label("Change how pump is read").select_option("it names the items")
    page.get_by_label("Change how code is read").select_option("leave it out")
    page.get_by_label("Leave out 1 row that repeats an earlier one").check()
    page.get_by_label("Dates are written as").select_option("month, day, year")
    page.get_by_role("button", name="Start with these").click()
    expect(page.locator("#labelling")).to_be_visible(timeout=60_000)
    folder = tmp_path / "doubtful.csv.soel"
    assert json.loads((folder / "config.json").read_text())["id_column"] == "pump"
    reading = {each["name"]: each for each in json.loads((folder / "encoder.json").read_text())["schema"]["columns"]}
    assert reading["code"]["kind"] == "ignored"
    assert reading["day"]["form"]["order"] == "mdy"


def test_what_was_left_out_of_a_file_is_said_and_all_of_it_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    rows = "".join(f"{1 + row % 28}.01.25;Parcel {row} to Neuburg an der Donau;{row},50 €\n" for row in range(60))
    (tmp_path / "bank.csv").write_text(f"Account;DE12\n\nBooked;Purpose;Amount\n{rows};Total;1.770,00 €\n")
    command = LabelCommand(tmp_path / "bank.csv")
    context = browser.new_context(viewport={"width": 375, "height": 700}, locale="de")
    try:
        page = context.new_page()
        page.goto(command.start())
        said = page.locator("#columns .notice").first
        expect(said).to_contain_text("Vor der Tabelle weggelassen: 'Account'.")
        assert page.locator(".columns-list").evaluate("list => list.scrollWidth <= list.clientWidth")
        assert serious_findings(page) == []
    finally:
        command.stop()
        context.close()
