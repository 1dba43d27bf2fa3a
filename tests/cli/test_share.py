from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from soel.model import POOL_SCORES, Fitted, state_of
from soel.model_folder import load_model
from soel.session import create
from soel.tables.csv_cells import read_rows
from tests.cli.conftest import Run

engine_maker = create.engine_maker  # the real one, before a test puts a fake in its place


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
    assert "disagree about 1 items" in run("status", folder).out
    said = run("decide", folder, "=n1", "anomaly")
    assert "=n1 counts as anomaly. No disagreement is open." in said.out
    assert run("status", folder, "--json").document["n_anomalies"] == 1
    assert run("decide", folder, "=n1", "open", "--json").document["disagreements"] == ["=n1"]
    assert run("decide", folder, "nobody", "normal").code == 2


def test_a_replay_finds_nothing_in_an_honest_session(run: Run, folder: Path) -> None:
    items = run("ask", folder, "-n", 4, "--json").document["items"]
    run("tell", folder, *(f"{item}=normal" for item in items))
    run("fit", folder)
    said = run("replay", folder, "--json")
    found = said.document
    assert said.code == 0
    assert found["same"]
    assert [step["what"] for step in found["steps"]] == [
        "data",
        "warm-up",
        "round 1",
        "estimate",
        "fit models/fit-0001",
    ]
    assert "All 5 steps came out the same." in run("replay", folder).out


def test_a_replay_of_models_in_an_older_form_ends_well(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def older(model: Any) -> Any:
        arrays, notes = state_of(model)
        return {name: array for name, array in arrays.items() if name != POOL_SCORES}, notes

    monkeypatch.setattr(create, "engine_maker", engine_maker)  # models of the real form
    items = run("ask", folder, "-n", 4, "--json").document["items"]
    run("tell", folder, *(f"{item}=normal" for item in items))
    with monkeypatch.context() as patch:
        patch.setattr("soel.model_folder.state_of", older)  # as the releases did that kept no scores of the pool
        run("fit", folder)
    fit = create.open_session(folder).state.fit
    assert fit is not None
    kept = load_model(folder / fit.model.folder).model
    assert isinstance(kept, Fitted)
    assert not len(kept.pool_scores)
    said = run("replay", folder, "--json")
    assert said.code == 0, said.out
    assert said.document["same"]


def test_a_replay_finds_a_changed_table(run: Run, folder: Path) -> None:
    run("ask", folder, "-n", 4)
    source = folder / "source.csv"
    source.write_text(source.read_text().replace("=n1,", "=n77,"))
    said = run("replay", folder, "--json")
    assert said.code == 4, "a code of its own"
    assert not said.document["same"]
    assert "source.csv is not what it was when the session was made" in said.document["steps"][0]["difference"]
    assert "1 of 3 steps differ." in run("replay", folder).out


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
