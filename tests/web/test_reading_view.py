"""How a table was read, as the page tells it: a line over all columns, and an entry for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.tables.look import look_at
from soel.tables.schema import Schema
from soel.text import ENGLISH, texts_in
from soel.web.reading import describe_columns, describe_reading
from tests.web.conftest import MakePage, Page
from tests.web.test_columns import Asking, write_doubtful


def write_sure(path: Path, n_rows: int = 60) -> Path:
    """German numbers, words for yes and no, gaps, a constant: all of it sure."""
    rows = [
        f"{10 + row % 7},{row % 10}5 bar;{1 + row % 9}.{100 + row},50 €;{'ja' if row % 3 else 'nein'};"
        f"{'' if row % 5 == 0 else row % 11};Nord"
        for row in range(n_rows)
    ]
    path.write_text("\n".join(["Druck;Kosten;läuft;Stufe;Werk", *rows]), encoding="utf-8")
    return path


@pytest.fixture
def reading(tmp_path: Path) -> Schema:
    return look_at(write_sure(tmp_path / "sure.csv"))


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "5 columns: 3 numbers, 1 yes or no, 1 always the same. 1 with something odd, 1 with gaps."),
        ("de", "5 Spalten: 3 Zahlen, 1 ja oder nein, 1 immer gleich. 1 auffällig, 1 mit Lücken."),
        ("fr", "5 colonnes : 3 nombres, 1 oui ou non, 1 toujours égale. 1 singulière, 1 avec des vides."),
    ],
)
def test_a_line_counts_the_columns_by_how_they_were_read(reading: Schema, language: str, words: str) -> None:
    assert describe_reading(reading, texts_in(language)).words == words


def test_a_column_says_how_it_is_written_and_which_option_changes_it(reading: Schema) -> None:
    columns = {each.name: each for each in describe_columns(reading, texts_in("de"))}
    assert [*columns] == ["Werk", "Stufe", "Druck", "Kosten", "läuft"], "what is odd first, then gaps"
    assert columns["Kosten"].words == "Zahl, Dezimalkomma, Tausender mit Punkt, in €"
    assert columns["läuft"].words == "ja oder nein, ja/nein"
    assert columns["Stufe"].missing == 0.2
    assert columns["Druck"].picture
    options = {each.typed: each.words for each in columns["Druck"].options}
    assert options == {'categorical = ["Druck"]': "Kategorie", 'ignore = ["Druck"]': "weglassen"}


def test_an_option_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("it's a b\n" + "".join(f"{row}.5\n" for row in range(30)))
    (column,) = describe_columns(look_at(tmp_path / "a.csv"), ENGLISH)
    assert column.options[0].typed == """categorical = ["it's a b"]"""


def test_a_column_that_is_empty_throughout_is_100_percent_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said to be 1e+02 % empty."""
    table = write_doubtful(tmp_path / "doubtful.csv")
    lines = table.read_text().splitlines()
    table.write_text("\n".join([f"{lines[0]},nothing", *(f"{line}," for line in lines[1:])]))
    monkeypatch.setattr("tests.web.test_columns.write_doubtful", lambda path: path)
    page = Asking(tmp_path, monkeypatch).owner.get("/").text
    assert "100 % empty" in page
    assert "e+" not in page


def test_the_line_is_there_before_and_after_the_session_is(
    make_page: MakePage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Asking(tmp_path, monkeypatch)
    assert asking.owner.get("/api/reading").json()["words"] == "", "the owner has the list before them"
    assert asking.owner.post("/api/preparation/columns", json={}).status_code == 200
    before = asking.owner.get("/api/reading").json()
    assert before["words"].startswith("4 columns: 2 names of the row, ")
    assert not before["unfolded"], "it was asked about a moment ago"
    assert len(asking.guest.get("/api/columns").json()) == 4
    page = make_page(tmp_path / "doubtful.csv", id_column=None)
    after = page.get("/api/reading")
    assert (after["words"], after["mark"], after["unfolded"]) == (before["words"], before["mark"], True)
    assert not page.user("Ann").get("/api/reading").json()["unfolded"], "she could not change it"
    page.post("/api/answers", item=page.view_model.session.state.open[0], verdict="normal")
    assert not page.get("/api/reading")["unfolded"], "it is too late"
    assert 'id="reading"' in page.client.get("/").text


def test_what_repeats_and_what_gives_labels_away_is_kept_with_the_session(make_page: MakePage, tmp_path: Path) -> None:
    rows = [f"{row % 50}.5,{row % 50}.5,{int(row < 20)}.25,k,{int(row < 20)}" for row in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,site,label", *rows]))
    page = make_page(tmp_path / "t.csv", id_column=None, label_column="label")
    odd = {column["name"]: column["odd"] for column in page.get("/api/columns")}
    assert odd["b"] == ["the same as 'a'"]
    assert odd["c"][0].startswith("tells the known answers by itself")
    assert odd["site"] == ["the same value throughout"]
    assert page.get("/api/reading")["notes"] == ["30 rows repeat an earlier one."]


def test_arrays_and_pictures_have_no_line(page: Page) -> None:
    assert describe_reading(None, ENGLISH).n_columns == 0
    assert page.get("/api/reading")["n_columns"] > 0
