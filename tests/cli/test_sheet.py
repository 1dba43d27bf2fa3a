"""The sheet of questions: what an expert sees of it, and what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.tables.rows import read_rows, write_rows
from tests.cli.conftest import Run, fill


def ask(run: Run, folder: Path, n: int = 3) -> Path:
    return Path(run("ask", folder, "-n", n, "--json").document["out"])


@pytest.mark.parametrize("verb", ["tell", "import"])
def test_a_filled_sheet_is_stored(run: Run, folder: Path, verb: str) -> None:
    sheet = ask(run, folder)
    fill(sheet, ["normal", "anomaly"])
    assert run(verb, folder, sheet, "--json").document["n_stored"] == 2
    assert "Labels: 2 of 20" in run("status", folder).out


def test_a_mistake_is_told_by_the_item(run: Run, folder: Path) -> None:
    sheet = ask(run, folder)
    fill(sheet, ["maybe"])
    item = read_rows(sheet)[0]["item"]
    assert f"row 2 ({item!r})" in run("tell", folder, sheet).err


def test_named_columns_come_with_the_label_and_unknown_ones_are_told_by_the_item(run: Run, folder: Path) -> None:
    sheet = ask(run, folder)
    fill(sheet, ["anomaly"])
    rows = read_rows(sheet)
    for names, stored in (("width; colour", False), ("width; label", True)):
        rows[0]["because"] = names
        write_rows(sheet, list(rows[0]), [list(row.values()) for row in rows])
        told = run("tell", folder, sheet, "--json") if stored else run("tell", folder, sheet)
        if stored:
            assert told.document["n_stored"] == 1
        else:
            assert f"row 2 ({rows[0]['item']!r})" in told.err
            assert "'colour'" in told.err
    run("export", folder, "--out", folder / "labels.csv")
    assert read_rows(folder / "labels.csv")[0]["because"] == "width;label"


def test_columns_of_the_data_are_told_apart_from_those_of_the_sheet(run: Run, tmp_path: Path) -> None:
    names = ("item", "item_id", "session", "x")
    rows = [[f"i{row % 3}", row % 5, row % 2, row * row % 7] for row in range(20)]
    write_rows(tmp_path / "data.csv", names, rows)
    run("init", tmp_path / "work", "--data", tmp_path / "data.csv")
    sheet = ask(run, tmp_path / "work", 2)
    assert list(read_rows(sheet)[0]) == [
        "item", "label", "note", "because", "data item", "item_id", "data session", "x", "session",
    ]  # fmt: skip
    fill(sheet, ["normal", "normal"])
    assert run("tell", tmp_path / "work", sheet, "--json").document["n_stored"] == 2


def test_a_sheet_that_was_saved_in_a_western_code_is_told(run: Run, folder: Path) -> None:
    sheet = ask(run, folder)
    rows = read_rows(sheet)
    rows[0] |= {"label": "normal", "note": "geprüft: 5 €"}
    text = "\n".join(";".join(row.values()) for row in [dict(zip(rows[0], rows[0], strict=True)), *rows])
    sheet.write_bytes(text.encode("cp1252"))
    assert run("tell", folder, sheet).out.startswith("1 answer stored.")
