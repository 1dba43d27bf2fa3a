"""soel look, and what init says and asks about columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soel.cli.look_columns import settle
from soel.cli.main import main
from soel.tables.look import look_at
from soel.tables.read_options import ReadOptions

TEXT = "order_id;price;when;is_fraud\n" + "".join(
    f"A{row};{row % 7},{row % 10}5 €;{row % 28 + 1:02d}.03.2024;{int(row % 9 == 0)}\n" for row in range(60)
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_look_says_how_each_column_is_read(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["look", str(table)]) == 0
    said = capsys.readouterr().out
    assert "number, decimal comma, in €" in said
    assert "time, day first" in said
    assert "█" in said
    assert "order_id: looks like an id" in said
    assert "is_fraud" in said.split("Not sure:")[1]


def test_look_shows_no_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,3\n")
    monkeypatch.setattr("soel.tables.look.look_at", lambda *_: look_at(tmp_path / "t.csv"))
    for how in ([], ["--json"]):
        assert main(["look", "postgresql://me:my@secret@host/db?password=secret", *how]) == 0
        said = capsys.readouterr().out
        assert "secret" not in said
        assert "postgresql://me:***@host/db" in said


def test_look_as_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["look", str(table), "--json", "--label-column", "is_fraud", "--columns", "categorical=price"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [column["kind"] for column in document["columns"]] == ["id", "category", "time"]
    assert document["n_rows"] == 60
    assert document["warnings"] == []
    assert document["layout"]["separator"] == ";"


def test_repeated_rows_columns_and_leaks_are_odd(tmp_path: Path) -> None:
    rows = [f"{row % 5}.5,{row % 5}.5,{int(row < 20)}.25,{int(row < 20)}" for row in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,label", *rows]))
    reading = look_at(tmp_path / "t.csv", None, "label")
    assert reading.n_duplicates == 90
    assert "the same as 'a'" in reading["b"].seen.oddities
    assert "tells the labels by itself" in reading["c"].seen.oddities[-1]
    assert not reading["a"].seen.oddities


@pytest.mark.parametrize(
    ("cells", "leaks"),
    [
        (lambda row: "fraud" if row < 20 else ["shop", "bank"][row % 2], True),
        (lambda row: f"case {row} was reported" if row < 20 else "", True),
        (lambda row: f"{row}.5" if row < 20 else "", True),
        (lambda row: ["shop", "bank", "post"][row % 3], False),
        (lambda row: f"customer {row}", False),
        (lambda row: "" if row % 2 else f"{row % 7}.5", False),
    ],
)
def test_categories_texts_and_gaps_can_give_the_labels_away(
    tmp_path: Path, cells: Callable[[int], str], leaks: bool
) -> None:
    rows = [f"{row * 7 % 11}.5,{cells(row)},{int(row < 20)}" for row in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,label", *rows]))
    odd = look_at(tmp_path / "t.csv", None, "label")["b"].seen.oddities
    assert any("tells the labels by itself" in each for each in odd) == leaks


def test_a_terminal_is_asked_about_what_is_not_sure(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reading = look_at(table)
    answers = iter(["what?", "i"])
    assert settle(reading, ReadOptions(), lambda _: next(answers)) == ReadOptions(ignore=("is_fraud",))
    assert settle(reading, ReadOptions(), lambda _: "") == ReadOptions()
    assert "looks like a label" in capsys.readouterr().out


def test_init_says_loudly_what_it_is_not_sure_of(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "s"), "--data", str(table), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "Column 'is_fraud'" in document["warnings"][0]
    assert document["reading"]["columns"][1]["read_as"] == "number, decimal comma, in €"


def test_labels_that_are_there_are_taken_in(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["init", str(tmp_path / "s"), "--data", str(table), "--json", "--label-column", "is_fraud"]
    assert main([*words, "--labels-by", "anna", "--budget", "60"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["n_labels"] == 60
    assert document["n_anomalies"] == 7
    assert (document["budget"], document["n_items"]) == (60, 60), "no more than there are items"


def test_settings_in_a_file(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "columns.toml").write_text('ignore = ["is_fraud"]\ncategorical = "price"\n')
    assert main(["look", str(table), "--json", "--columns", str(tmp_path / "columns.toml")]) == 0
    kinds = [column["kind"] for column in json.loads(capsys.readouterr().out)["columns"]]
    assert kinds == ["id", "category", "time", "ignored"]
    (tmp_path / "columns.toml").write_text("colour = 1\n")
    assert main(["look", str(table), "--columns", str(tmp_path / "columns.toml")]) == 2
    assert "columns.toml holds colour, no setting" in capsys.readouterr().err


def look_document(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert main(["look", *map(str, words), "--json"]) == 0, capsys.readouterr().err
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_template_holds_what_was_found_and_is_a_file_of_settings(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "columns.toml"
    assert main(["look", str(table), "--write", str(template)]) == 0
    assert f"Next: soel init DIR --data {table} --columns {template}" in capsys.readouterr().out
    kinds = [each["kind"] for each in look_document(capsys, table, "--columns", template)["columns"]]
    assert kinds == [each["kind"] for each in look_document(capsys, table)["columns"]], "all of it is commented"
    lines = template.read_text().splitlines()
    (found,) = [line for line in lines if line.startswith("# numeric = ")]
    assert "price" in found
    template.write_text(found.removeprefix("# ").replace("numeric", "categorical"))
    changed = {each["name"]: each["kind"] for each in look_document(capsys, table, "--columns", template)["columns"]}
    assert changed["price"] == "category"
    assert main(["look", str(table), "--write", str(template)]) == 2, "a file that is there is kept"
    assert main(["look", str(table), "--write", str(tmp_path / "columns.json")]) == 2


def test_settings_are_said_in_place_too_and_win_over_a_file(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text('{"categorical": ["price"], "ignore": ["is_fraud"]}')
    words = ["--columns", tmp_path / "c.json", "categorical=price", "categorical=is_fraud", "--ignore", "when"]
    kinds = [each["kind"] for each in look_document(capsys, table, *words)["columns"]]
    assert kinds == ["id", "category", "ignored", "category"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("colour=red", "There is no setting called 'colour'"),
        ("max_unpacked=much", "max_unpacked cannot be 'much'; write max_unpacked=BYTES"),
        ("patches=perhaps", "patches=no"),
        ("drop-duplicates=maybe", "drop_duplicates=yes"),
        ("decimal=;", "The decimal sign"),
        ("no-such-file.toml", "no-such-file.toml cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    table: Path, capsys: pytest.CaptureFixture[str], word: str, message: str
) -> None:
    assert main(["look", str(table), "--columns", word]) == 2
    assert message in capsys.readouterr().err


def test_settings_that_are_nested_too_deeply_are_refused(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("c.toml", "c.json"):
        (tmp_path / name).write_text(("ignore = " if name == "c.toml" else "") + "[" * 100_000 + "]" * 100_000)
        assert main(["look", str(table), "--columns", str(tmp_path / name)]) == 2
        assert f"{name} is neither TOML nor JSON" in capsys.readouterr().err
