from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from soel.scoring.score_table import COLUMNS
from soel.tables.rows import read_rows, write_rows
from tests.cli.conftest import N_FAR, N_ROWS, Run, fill, write_table


def truth(name: str) -> str:
    return "anomaly" if int(name.removeprefix("=n")) < N_FAR else "normal"


def label_round(run: Run, folder: Path, n: int = 6) -> Path:
    sheet = Path(run("ask", folder, "-n", n, "--json").document["out"])
    fill(sheet, [truth(row["item"]) for row in read_rows(sheet)])
    assert run("tell", folder, sheet).code == 0
    return sheet


def test_the_whole_loop_with_a_spreadsheet(run: Run, folder: Path) -> None:
    label_round(run, folder)
    fitted = run("fit", folder, "--json").document
    assert fitted["n_labels"] == 6
    assert fitted["estimate"]["diagnostics"] == {"weight": None}
    scored = run("score", folder, "--json").document
    rows = read_rows(folder / "scores.csv")
    assert list(rows[0]) == ["name", *COLUMNS]
    assert len(rows) == scored["n_items"] == N_ROWS
    assert {row["name"] for row in rows if int(row["rank"]) <= N_FAR} == {f"=n{row}" for row in range(N_FAR)}
    assert sum(row["alarm"] == "True" for row in rows) == scored["n_alarms"] > 0
    status = run("status", folder, "--json").document
    assert (status["n_labels"], status["n_left"], status["fit_is_current"]) == (6, 14, True)


def test_one_question_at_a_time(run: Run, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "one by one"
    assert run("init", folder, "--data", table, "--id-column", "name", "--goal", "find").code == 0
    first = run("ask", folder, "--next", "-n", 5, "--json").document
    assert (first["round"], first["drawn"], first["refined"], first["n_open"]) == (1, True, False, 5)
    assert list(first["values"]) == ["width", "height", "label", "truth"]
    assert run("ask", folder, "--next", "--json").document["item"] == first["item"], "until it is answered"
    asked, refined = [first["item"]], 0
    for _ in range(4):
        assert run("tell", folder, f"{asked[-1]}=normal").code == 0
        said = run("ask", folder, "--next", "--json").document
        asked, refined = [*asked, said["item"]], refined + said["refined"]
    assert len(set(asked)) == 5
    assert refined > 0, "an answer was heard"
    text = run("ask", folder, "--next").out
    assert f"Next: soel tell {folder} {asked[-1]}=anomaly" in text
    assert run("ask", folder, "--next", "--out", tmp_path / "x.csv").code == 2


def test_the_sheet_shows_the_data_but_not_the_truth(run: Run, folder: Path, table: Path) -> None:
    sheet = folder / "round-0001.csv"
    asked = run("ask", folder, "-n", 4, "--json").document
    rows, source = read_rows(sheet), {row["name"]: row for row in read_rows(table)}
    assert list(rows[0]) == ["item", "label", "note", "because", "width", "height", "data label", "session"]
    assert [row["item"] for row in rows] == asked["items"]
    for row in rows:
        assert (row["label"], row["session"]) == ("", asked["session"])
        assert float(row["width"]) == float(source[row["item"]]["width"])
        assert float(row["data label"]) == float(source[row["item"]]["label"])
    assert "'=n" in sheet.read_text(), "an id that looks like a formula is neutralised"


def test_asking_again_shows_what_is_open(run: Run, folder: Path) -> None:
    first = run("ask", folder, "-n", 4, "--json").document
    run("tell", folder, f"{first['items'][0]}=skip", f"{first['items'][1]}=n")
    again = run("ask", folder, "--json").document
    assert not again["drawn"]
    assert again["items"][:2] == first["items"][2:]
    assert len(again["items"]) == 3


def test_untold_answers_in_a_sheet_are_not_overwritten(run: Run, folder: Path) -> None:
    sheet = Path(run("ask", folder, "-n", 4, "--json").document["out"])
    fill(sheet, ["anomaly"])
    before = sheet.read_bytes()
    said = run("ask", folder)
    assert (said.code, sheet.read_bytes()) == (2, before)
    assert "not told yet" in said.err
    run("tell", folder, sheet)
    assert run("ask", folder).code == 0


def test_a_foreign_file_is_not_overwritten(run: Run, folder: Path, table: Path) -> None:
    before = table.read_bytes()
    said = run("ask", folder, "--out", table)
    assert (said.code, table.read_bytes()) == (2, before)
    assert "choose another --out" in said.err


def test_tell_by_words_and_undo(run: Run, folder: Path) -> None:
    told = run("tell", folder, "=n1=anomaly", "=n9=0", "--who", "ann", "--json").document
    assert (told["n_stored"], told["n_labels"]) == (2, 2)
    assert run("undo", folder).code == 2
    assert run("undo", folder, "--who", "ann", "--json").document["n_labels"] == 1


def test_columns_are_named_with_words(run: Run, folder: Path, table: Path) -> None:
    first, second = [name for name in read_rows(table)[0] if name not in ("name", "truth")][:2]
    run("tell", folder, f"=n1=anomaly:{first};{second}", "=n9=normal")
    out = folder.parent / "labels.csv"
    run("export", folder, "--out", out)
    assert [row["because"] for row in read_rows(out)] == [f"{first};{second}", ""]
    said = run("tell", folder, "=n2=anomaly:nothing")
    assert said.code == 2
    assert "nothing" in said.err


def test_notes_travel_with_the_sheet(run: Run, folder: Path) -> None:
    sheet = Path(run("ask", folder, "-n", 2, "--json").document["out"])
    rows = read_rows(sheet)
    rows[0] |= {"label": "Unsure ", "note": "=SUM(A1) looks odd"}
    write_rows(sheet, list(rows[0]), [list(row.values()) for row in rows])
    assert run("tell", folder, sheet, "--json").document["n_stored"] == 1
    assert run("tell", folder, sheet, "--json").document["n_stored"] == 0


def test_new_rows_are_scored_with_or_without_the_label_column(run: Run, folder: Path, tmp_path: Path) -> None:
    label_round(run, folder)
    run("fit", folder)
    new = write_table(tmp_path / "new.csv", 12)
    out = tmp_path / "new.parquet"
    scored = run("score", folder, "--data", new, "--out", out, "--threshold", "share=0.25", "--json").document
    columns = pyarrow.parquet.read_table(out).to_pydict()
    assert list(columns) == ["name", *COLUMNS]
    assert sorted(columns["name"]) == sorted(f"=n{row}" for row in range(12))
    assert columns["rank"] == list(range(1, 13))
    assert sum(columns["alarm"]) == scored["n_alarms"]
    rows = [{k: v for k, v in row.items() if k != "truth"} for row in read_rows(new)]
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(",".join(cells) for cells in (rows[0], *(row.values() for row in rows))))
    again = run("score", folder, "--data", bare, "--out", tmp_path / "again.csv", "--json").document
    assert [row["score"] for row in again["top"]] == pytest.approx([row["score"] for row in scored["top"]])


def test_ids_come_from_the_content_without_an_id_column(run: Run, table: Path, tmp_path: Path) -> None:
    place = tmp_path / "other"
    assert run("init", place, "--data", table).code == 0
    items = run("ask", place, "-n", 3, "--json").document["items"]
    assert all(item.endswith("-0") for item in items)
    assert run("tell", place, f"{items[0]}=anomaly").code == 0


def test_the_session_lives_without_its_source(run: Run, folder: Path, table: Path) -> None:
    table.unlink()
    assert run("ask", folder, "-n", 3).code == 0


def test_the_rows_own_columns_are_written_behind(run: Run, folder: Path, table: Path, tmp_path: Path) -> None:
    label_round(run, folder)
    assert run("fit", folder).code == 0
    source = {row["name"]: row for row in read_rows(table)}
    for data in ((), ("--data", table)):
        assert run("score", folder, *data, "--with-columns", "--out", tmp_path / "s.csv").code == 0
        rows = read_rows(tmp_path / "s.csv")
        assert list(rows[0]) == ["name", *COLUMNS, "width", "height", "data label", "truth"]
        for row in rows:
            assert float(row["width"]) == float(source[row["name"]]["width"])
            assert row["truth"] == source[row["name"]]["truth"]


def test_the_terminal_names_things_as_the_file_does(run: Run, folder: Path) -> None:
    label_round(run, folder)
    assert run("fit", folder).code == 0
    header, _, first = run("score", folder).out.splitlines()[1:4]
    assert header.split() == [*COLUMNS, "name"]
    assert first.split()[0] == "1"


def test_a_strategy_is_chosen_by_its_name(run: Run, table: Path, tmp_path: Path) -> None:
    asked = {}
    for strategy in ("random", "positive"):
        place = tmp_path / strategy
        assert run("init", place, "--data", table, "--id-column", "name", "--strategy", strategy).code == 0
        asked[strategy] = run("ask", place, "-n", 5, "--json").document["items"]
    assert asked["random"] != asked["positive"]
