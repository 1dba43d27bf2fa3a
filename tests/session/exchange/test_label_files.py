from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from soel.errors import ConfigError, DataError, LabelError, UnknownItemError
from soel.session import Answer, Event, Session
from soel.session.events import verdict_of
from soel.session.label_formats import as_tasks, read_tasks
from soel.session.labels import FORMATS, export_labels, import_labels, read_labels
from soel.tables.rows import read_rows
from soel.types import Verdict
from tests.table_session import Make

WHOLE = [form for form in FORMATS if form != "coco"]  # which holds what was drawn, and labels


def fill(session: Session) -> None:
    session.tell([Answer("=n1", Verdict.ANOMALY, "=SUM(A1) looks odd"), Answer("=n2", Verdict.NORMAL)], "ann")
    session.tell({"=n1": "normal", "=n3": "skip", "=n4": "unsure"}, "bob")
    session.decide("=n1", "anomaly")
    session.note("=n5", '-1+1, "quoted"\nand a second line', "ann")


def meant(session: Session) -> list[tuple[str, ...]]:
    return [
        (str(e.item), str(verdict_of(e) or ""), e.body.get("note", ""), e.who, e.kind) for e in session.state.standing
    ]


@pytest.mark.parametrize("form", WHOLE)
def test_what_is_exported_comes_back(make: Make, form: str) -> None:
    source, target = make("source"), make("target")
    fill(source)
    path, n_entries = export_labels(source, form)
    assert n_entries == 7
    assert path.parent == source.folder.path
    told = import_labels(target, path)
    assert (told.n_stored, told.n_repeated) == (7, 0)
    assert sorted(meant(target)) == sorted(meant(source))
    assert target.state.labels == source.state.labels == {"=n1": 1, "=n2": 0}
    assert import_labels(target, path).n_stored <= 2, (
        "labels are stored once; what was set aside may be set aside again"
    )


def test_a_spreadsheet_runs_nothing(make: Make) -> None:
    session = make()
    fill(session)
    path, _ = export_labels(session, "csv")
    cells = [cell.strip('"') for line in path.read_text().splitlines() for cell in line.split(",")]
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]
    assert "'=n1" in cells


@pytest.mark.parametrize("form", ["csv", "json"])
def test_items_are_called_as_people_call_them(make: Make, tmp_path: Path, form: str) -> None:
    source, target = make("source"), make("target")
    fill(source)
    files = [f"{row}.png" for row in range(len(source.ids))]
    path, _ = export_labels(source, form, tmp_path / f"labels.{form}", {"file": files, "id": source.ids})
    rows = json.loads(path.read_text())["labels"] if form == "json" else read_rows(path)
    assert {row["file"] for row in rows} == {"1.png", "2.png", "3.png", "4.png", "5.png"}
    assert import_labels(target, path).n_stored == len(rows) == 7


def test_a_file_called_json_held_csv(make: Make, tmp_path: Path) -> None:
    """The suffix says the form where nobody else does."""
    session = make()
    fill(session)
    assert json.loads(export_labels(session, out=tmp_path / "a.json")[0].read_text())["labels"]
    for name in ("a.xlsx", "a.parquet", "a.csv", "a"):
        assert len(read_labels(export_labels(session, out=tmp_path / name)[0])) == 7, name
    with pytest.raises(ConfigError, match=r"call it a\.xlsx"):
        export_labels(session, "xlsx", tmp_path / "a.txt")


def test_one_name_in_place_of_all(make: Make) -> None:
    source, target = make("source"), make("target")
    source.tell({"=n1": "anomaly"}, "ann")
    path, _ = export_labels(source, "json")
    import_labels(target, path, who="carol")
    assert target.state.answers["=n1"].who == "carol"


def test_a_bare_table_of_labels_is_enough(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("item_id;label\n=n1;A\n=n2;0\n=n3;\n")
    session = make()
    assert import_labels(session, path).n_stored == 2
    assert session.state.labels == {"=n1": 1, "=n2": 0}
    assert session.state.answers["=n1"].who == "expert"


def test_label_studio_s_own_export_is_read(make: Make, tmp_path: Path) -> None:
    choice = {"type": "choices", "from_name": "anything", "value": {"choices": ["Normal"]}}
    tasks = [
        {"id": 7, "data": {"id": "=n1"}, "annotations": [{"completed_by": 3, "result": [choice], "lead_time": 2.5}]},
        {"id": 8, "data": {"item_id": "=n2"}, "annotations": [{"result": [], "was_cancelled": True}]},
        {"id": 9, "data": {"item_id": "=n3"}, "annotations": [{"result": []}], "predictions": []},
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    session = make()
    assert import_labels(session, path).n_stored == 2
    assert session.state.answers["=n1"].who == "annotator 3"
    assert session.state.answers["=n2"].verdict == "skip"


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("x.csv", "item_id,verdict\na,b\n", LabelError),
        ("x.csv", "item_id,label\n=n1,perhaps\n", LabelError),
        ("x.csv", "item_id,label,kind\n=n1,normal,gossip\n", LabelError),
        ("x.csv", "item_id,label\nnobody,normal\n", UnknownItemError),
        ("x.json", "{", LabelError),
        ("x.json", "{}", LabelError),
        ("x.json", "3", LabelError),
        ("x.json", '{"format": "soel-labels", "version": 2, "labels": []}', LabelError),
        ("x.json", '{"format": "soel-labels", "version": 1, "labels": [3]}', LabelError),
        ("x.json", '{"format": "soel-labels", "version": 1, "labels": [{"item": "=n1"}]}', LabelError),
        ("x.json", "[3]", LabelError),
        ("x.json", '[{"data": {}, "annotations": []}]', LabelError),
        ("x.json", '[{"data": {"id": 1}, "annotations": [{"result": [{"type": "choices"}]}]}]', LabelError),
    ],
)
def test_a_file_that_is_not_all_right_is_refused_whole(
    make: Make, tmp_path: Path, name: str, content: str, error: type[Exception]
) -> None:
    (tmp_path / name).write_text(content)
    session = make()
    with pytest.raises(error):
        import_labels(session, tmp_path / name)
    assert session.state.last_event == 0


def test_missing_files_and_unknown_formats_are_named(make: Make, tmp_path: Path) -> None:
    for name in ("nothing.csv", "nothing.json"):
        with pytest.raises(DataError, match=name):
            read_labels(tmp_path / name)
    with pytest.raises(ConfigError, match="csv, json, xlsx"):
        export_labels(make(), "xml")


words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
said: Any = st.builds(
    lambda who, *answer: Answer(*answer).event(who, "2024-01-01T00:00:00+00:00"),
    words.filter(bool),
    words.filter(bool),
    st.sampled_from(Verdict),
    words.map(lambda note: note or None),
)


@given(st.lists(said, max_size=6))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_tasks_hold_every_entry(written: list[Event]) -> None:
    again = read_tasks(json.loads(json.dumps(as_tasks(written))))
    assert sorted(map(repr, again)) == sorted(map(repr, written))


def test_of_a_sheet_the_columns_of_the_data_are_not_taken_for_ours(make: Make, tmp_path: Path) -> None:
    session, sheet = make("session"), tmp_path / "sheet.csv"
    sheet.write_text(
        "item,label,note,who,at,kind,mark,session\n"
        "=n1,anomaly,hot,Miller Ltd,here,steel,x,s\n"
        "=n2,,,Smith,there,note,y,s\n"
        "=n3,normal,,Jones,there,mark,z,s\n",
        encoding="utf-8",
    )
    assert import_labels(session, sheet, who="ann").n_stored == 2
    assert sorted(meant(session)) == [
        ("=n1", "anomaly", "hot", "ann", "label"),
        ("=n3", "normal", "", "ann", "label"),
    ]
