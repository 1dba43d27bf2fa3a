from __future__ import annotations

import json
from pathlib import Path

import pytest

from soel.tables.rows import read_rows
from tests.cli.conftest import Run


@pytest.mark.parametrize("form", ["csv", "json", "label-studio"])
def test_labels_go_from_one_session_to_another(run: Run, folder: Path, table: Path, tmp_path: Path, form: str) -> None:
    run("tell", folder, "=n1=anomaly", "=n9=normal", "--who", "ann")
    written = run("export", folder, "--format", form, "--json").document
    assert (written["format"], written["n_entries"]) == (form, 2)
    run("init", tmp_path / "other", "--data", table, "--id-column", "name", "--label-column", "truth")
    told = run("import", tmp_path / "other", written["out"], "--json").document
    assert (told["n_stored"], told["n_labels"]) == (2, 2)
    assert "2 were known" in run("import", tmp_path / "other", written["out"]).out


def test_the_owner_settles_a_disagreement(run: Run, folder: Path) -> None:
    run("tell", folder, "=n1=anomaly", "--who", "ann")
    run("tell", folder, "=n1=normal", "--who", "bob")
    assert "disagree about 1 item;" in run("status", folder).out
    said = run("decide", folder, "=n1", "anomaly")
    assert "=n1 counts as anomaly. No disagreement is open." in said.out
    assert run("status", folder, "--json").document["n_anomalies"] == 1
    assert run("decide", folder, "=n1", "open", "--json").document["disagreements"] == ["=n1"]
    assert run("decide", folder, "nobody", "normal").code == 2


def test_only_a_server_s_events_are_brought_in(run: Run, folder: Path) -> None:
    said = run("export", folder, "--events")
    assert said.code == 2
    assert "in the folder already" in said.err


def test_a_server_that_is_not_there_is_an_error_without_the_password(run: Run, table: Path, tmp_path: Path) -> None:
    said = run("init", tmp_path / "s", "--data", table, "--store", "postgresql://ann:hunter2@127.0.0.1:9/x", "--json")
    assert said.code == 2
    assert "check its address" in json.loads(said.out)["error"]
    assert "hunter2" not in said.out + said.err
    assert list(tmp_path.iterdir()) == [table]


def test_several_annotators_per_item(run: Run, table: Path, tmp_path: Path) -> None:
    run("init", tmp_path / "s", "--data", table, "--id-column", "name", "--answers-per-item", "2")
    item = run("ask", tmp_path / "s", "-n", 1, "--json").document["items"][0]
    assert run("tell", tmp_path / "s", f"{item}=n", "--who", "ann", "--json").document["n_open"] == 1
    assert run("tell", tmp_path / "s", f"{item}=n", "--who", "bob", "--json").document["n_open"] == 0


def test_labels_name_items_by_the_data_s_own_column(run: Run, folder: Path) -> None:
    item = json.loads(run("ask", folder, "-n", 1, "--no-cover", "--json").out)["items"][0]
    run("tell", folder, f"{item}=normal")
    assert run("export", folder).code == 0
    (row,) = read_rows(folder / "labels.csv")
    assert row["name"] == row["item_id"] == item
    assert run("import", folder, folder / "labels.csv").code == 0
