"""Answers of an earlier session, of a file, and of a second session of the same data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.errors import LabelError, SchemaError, SessionError
from soel.session import Session, SessionOptions, create
from soel.session.create import list_sessions
from soel.session.growth import add_data
from soel.session.item_tables import read_items
from soel.session.labels import export_labels, take_labels
from tests.table_session import Make


def answer(session: Session, who: str = "ann", n: int = 4, last: str = "anomaly") -> tuple[str, ...]:
    items = session.ids[:n]
    session.tell(dict.fromkeys(items[:-1], "normal") | {items[-1]: last}, who)
    return items


def test_answers_of_an_earlier_session_are_matched_by_id_and_cost_no_budget(make: Make, tmp_path: Path) -> None:
    old, new = make("old", budget=6), make("new", budget=6)
    items = answer(old)
    old.decide(items[0], "anomaly", "boss")
    old.note(items[1], "look twice", "ann")
    taken = take_labels(new, old.folder.path)
    assert (taken.n_stored, taken.n_left_out, taken.by) == (6, 0, "id")
    assert new.state.labels == old.state.labels
    assert new.state.answers[items[0]].decision is not None
    assert [note.text for note in new.state.notes_of(items[1])] == ["look twice"]
    assert (new.state.budget, new.state.n_left) == (10, 6), "the budget is for new questions"
    assert take_labels(new, old.folder.path).n_stored == 0
    assert new.state.budget == 10


def test_a_file_of_labels_will_do(make: Make, tmp_path: Path) -> None:
    old, new = make("old", budget=6), make("new", budget=6)
    answer(old)
    path, _ = export_labels(old, "csv", tmp_path / "labels.csv")
    with path.open("a") as file:
        file.write("nobody,normal,,ann,,answer\n")
    taken = take_labels(new, path)
    assert (taken.n_stored, taken.n_left_out) == (4, 1)
    path.write_text("item_id,label\nnobody,normal\n")
    with pytest.raises(LabelError, match=r"None of the 1 entries of labels\.csv is about an item of this session"):
        take_labels(new, path)
    with pytest.raises(SessionError, match="neither a session's folder nor a file of labels"):
        take_labels(new, tmp_path)


def write_values(path: Path, values: np.ndarray, ids: bool) -> Path:
    lines = [f"{f'r{row},' if ids else ''}{a},{b}\n" for row, (a, b) in enumerate(values.tolist())]
    path.write_text(("id," if ids else "") + "x,y\n" + "".join(lines))
    return path


def test_row_numbers_are_matched_by_content(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(400, 2)).round(4)
    first = write_values(tmp_path / "a.csv", values, False)
    shuffled = write_values(tmp_path / "b.csv", values[::-1], False)
    options = SessionOptions(budget=6, pool_rows=380)
    old = create.create_session(tmp_path / "old", first, options)
    new = create.create_session(tmp_path / "new", shuffled, options)
    named = create.create_session(
        tmp_path / "named", write_values(tmp_path / "c.csv", values, True), SessionOptions(id_column="id", budget=6)
    )
    items = answer(old)
    taken = take_labels(new, tmp_path / "old")
    assert taken.by == "content"
    assert taken.n_stored + taken.n_left_out == 4
    here, there = (read_items(each.folder).frame.columns["x"] for each in (new, old))
    for item, label in new.state.labels.items():
        (twin,) = [other for other in items if there[old.ids.index(other)] == here[new.ids.index(item)]]
        assert old.state.labels[twin] == label
        assert item != twin or int(item) in (199, 200), "a number says nothing in other data"
    assert take_labels(named, tmp_path / "old").n_stored == 4
    assert named.state.labels.keys() == {f"r{item}" for item in items}
    (tmp_path / "d.csv").write_text("x,z\n" + "".join(f"0.{row},1.{row * 7 % 20}\n" for row in range(20)))
    other = create.create_session(tmp_path / "other", tmp_path / "d.csv", SessionOptions(budget=4))
    with pytest.raises(SchemaError, match="the two tables differ in columns: 'y', 'z'"):
        take_labels(other, tmp_path / "old")
    for each in (old, new, named, other):
        each.close()


def test_two_sessions_of_the_same_data_are_merged_person_by_person(make: Make) -> None:
    one, two = make("one", budget=6, answers_per_item=2), make("two", budget=6, answers_per_item=2)
    items = answer(one, "ann")
    answer(two, "bob", last="normal")
    two.tell({items[0]: "anomaly"}, "ann")  # later than what ann said in the first one
    taken = take_labels(one, two.folder.path)
    assert taken.n_stored == 5
    votes = {vote.who: vote.verdict.value for vote in one.state.answers[items[-1]].votes}
    assert votes == {"ann": "anomaly", "bob": "normal"}
    assert set(one.state.disagreements) == {items[0], items[-1]}
    vote = one.state.vote_of(items[0], "ann")
    assert vote is not None
    assert vote.verdict == "anomaly", "the later answer of one person holds"
    one.tell({items[0]: "normal"}, "ann")
    assert take_labels(one, two.folder.path).n_stored == 0, "an older answer does not come back"
    with pytest.raises(SessionError, match="the same session, or a copy of it"):
        take_labels(one, one.folder.path)


def test_answers_on_items_that_are_not_there_are_counted(make: Make, tmp_path: Path) -> None:
    one, two = make("one", budget=6), make("two", budget=6)
    header = two.folder.source.read_text().splitlines()[0]
    (tmp_path / "more.csv").write_text(f"{header}\n=n900,0.1,0.2,0.3,0\n")
    add_data(two, tmp_path / "more.csv")
    two.tell({"=n900": "normal", two.ids[0]: "normal"}, "bob")
    taken = take_labels(one, two.folder.path)
    assert (taken.n_stored, taken.n_left_out) == (1, 1)
    add_data(one, tmp_path / "more.csv")
    assert take_labels(one, two.folder.path).n_stored == 1


def test_the_sessions_of_a_folder_are_listed_with_where_they_stand(make: Make, tmp_path: Path) -> None:
    one, two = make("one", budget=6), make("deep/two", budget=6)
    one.describe("First", "What it is about")
    answer(two)
    (tmp_path / "deep" / "model").mkdir()
    (tmp_path / "deep" / "model" / "config.json").write_text("{}")
    found = list_sessions(tmp_path)
    assert [entry.folder.name for entry in found] == ["two", "one"], "what changed last comes first"
    assert [entry.status.n_labels if entry.status else None for entry in found] == [4, 0]
    assert found[1].status is not None
    assert (found[1].status.name, found[1].status.description) == ("First", "What it is about")
    one.close()
    (tmp_path / "one" / "config.json").write_text("{")
    (damaged,) = [entry for entry in list_sessions(tmp_path) if entry.error]
    assert damaged.folder.name == "one"
    with pytest.raises(SessionError, match="is not a folder"):
        list_sessions(tmp_path / "nowhere")
