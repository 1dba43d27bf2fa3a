"""add, remove, set, import of sessions, status of folders on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import N_ROWS, Run


def write_more(folder: Path, n_rows: int = 3) -> Path:
    """Rows like those of the session, under new names."""
    head = (folder / "source.csv").read_text().splitlines()[0]
    path = folder.parent / "march.csv"
    path.write_text("\n".join([head, *(f"=m{row},0.{row},0.2,0.3,0" for row in range(n_rows))]) + "\n")
    return path


def test_a_month_is_added_and_the_reply_says_what_to_do_next(run: Run, folder: Path) -> None:
    march = write_more(folder)
    said = run("add", folder, "--data", march)
    assert said.code == 0, said.err
    assert f"The session has {N_ROWS + 3} items (3 added); 0 labels hold." in said.out
    assert said.out.rstrip().endswith(f"Next: soel ask {folder}")
    again = run("add", folder, "--data", march)
    assert again.code == 2
    assert "3 of the 3 ids of march.csv are in the session already" in again.err
    document = json.loads(run("add", folder, "--data", march, "--replace", "--json").out)
    assert (document["n_added"], document["n_replaced"], document["pool"]) == (0, 3, 3)
    removed = json.loads(run("remove", folder, "=m0", "=m1", "--json").out)
    assert (removed["n_removed"], removed["n_items"]) == (2, N_ROWS + 1)
    assert "no item 'nobody'" in run("remove", folder, "nobody").err
    assert run("status", folder).out.startswith("table.csv: ")
    assert run("check", folder).code == 0


def test_what_reading_left_out_is_said(run: Run, folder: Path) -> None:
    march = write_more(folder)
    march.write_text("Pumps in March\n\n" + march.read_text().replace("=m2", "\nTotal"))
    notes = ["Left out before the table: 'Pumps in March'.", "1 blank line is left out."]
    added = json.loads(run("add", folder, "--data", march, "--json").out)
    assert (added["n_added"], added["notes"]) == (3, notes)
    said = run("add", folder, "--data", march, "--replace")
    assert said.out.splitlines()[:2] == notes
    assert run("fit", folder).code == 0
    scored = json.loads(run("score", folder, "--data", march, "--json").out)
    assert (scored["n_items"], scored["notes"]) == (3, notes)
    assert run("score", folder, "--data", march).out.splitlines()[:2] == notes


def test_a_budget_grows(run: Run, folder: Path) -> None:
    assert "The budget is 30 labels, 30 of them left." in run("set", folder, "--budget", 30).out
    document = run("set", folder, "--budget", 31, "--json").document
    assert (document["budget"], document["n_left"]) == (31, 31)
    assert "can only grow, got 30" in run("set", folder, "--budget", 30).err
    assert "more than the" in run("set", folder, "--budget", 10_000).err
    assert run("set", folder, "--budget", 31).code == 0, "the budget that it has is no error"


def test_a_session_has_a_name_and_is_found(run: Run, folder: Path, table: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    assert run("init", second, "--data", table, "--id-column", "name").code == 0
    assert run("set", second, "--name", "Pumps", "--description", "An hour").code == 0
    assert run("status", second).out.startswith("Pumps\nAn hour\n")
    assert json.loads(run("set", second, "--name", "North", "--json").out)["description"] == "An hour"
    assert "North" in run("set", second).out
    listed = run("status", tmp_path)
    assert "North" in listed.out
    assert str(folder) in listed.out
    document = json.loads(run("status", tmp_path, "--json").out)
    assert {entry["name"] for entry in document["sessions"]} == {"North", ""}
    (tmp_path / "empty").mkdir()
    assert "is not a session folder" in run("status", tmp_path / "empty").err
    assert "--page lists the sessions" in run("status", folder, "--page", tmp_path / "list.html").err


def test_a_folder_of_sessions_has_no_page_and_says_which_have_one(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("label", tmp_path, "--no-browser")
    assert said.code == 2
    assert f"{tmp_path} holds sessions: {folder}. Name one of them;" in said.err


def test_answers_are_taken_over_and_merged(run: Run, folder: Path, table: Path, tmp_path: Path) -> None:
    assert run("tell", folder, "=n0=anomaly", "=n9=normal").code == 0
    second, data = tmp_path / "second", ("--data", table, "--id-column", "name")
    assert run("init", second, *data).code == 0
    assert "2 answers taken over, matched by id." in run("import", second, folder).out
    assert run("tell", second, "=n9=anomaly", "=n8=normal", "--who", "bob").code == 0
    merged = run("import", folder, second)
    assert merged.code == 0, merged.err
    assert "People disagree on 1 item:" in merged.out
    assert run("import", folder, second, "--json").document["n_stored"] == 0
    assert "keep their names" in run("import", folder, second, "--who", "ann").err
    assert run("import", folder, tmp_path / "nowhere").code == 2


def test_items_are_shared_out_and_status_says_how_far_each_one_is(run: Run, folder: Path) -> None:
    assert run("ask", folder, "-n", 4, "--no-cover").code == 0
    said = run("assign", folder, "ann", "bob")
    assert said.code == 0, said.err
    assert "4 items changed; 4 open ones are assigned, 0 are for anybody." in said.out
    document = json.loads(run("assign", folder, "--json").out)
    assert sorted(name for names in document["assigned"].values() for name in names) == ["ann", "ann", "bob", "bob"]
    item = next(item for item, names in document["assigned"].items() if list(names) == ["ann"])
    run("tell", folder, f"{item}=anomaly", "--who", "ann")
    status = run("status", folder)
    assert "still to do" in status.out
    people = {person["name"]: person for person in json.loads(run("status", folder, "--json").out)["people"]}
    assert (people["ann"]["n_answers"], people["ann"]["n_assigned"], people["bob"]["n_assigned"]) == (1, 1, 2)
    assert "say one of the two" in run("assign", folder, "ann", "--free").err
    assert "3 items changed; 0 open ones are assigned" in run("assign", folder, "--free").out
