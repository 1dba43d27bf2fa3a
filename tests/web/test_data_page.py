"""The data page: what the session holds, names, uploads piece by piece, and what they change for everybody."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from soel.errors import DataError, SessionError
from soel.files import hold_lock
from soel.session import uploads as uploads_module, worker
from soel.session.uploads import Uploads
from tests.web.conftest import N_ITEMS, MakePage, Page
from tests.web.sample_data import write_pumps

UPLOAD = "0123456789abcdef"


def more_pumps(folder: Path, n_rows: int = 5) -> bytes:
    """Rows like those of the page's table, under ids of their own."""
    write_pumps(folder / "more.csv", n_rows, 1)
    text = (folder / "more.csv").read_text()
    head, *rows = text.splitlines()
    return "\n".join([head, *(f"new-{row}" for row in rows)]).encode()


def send(page: Page, content: bytes, name: str = "march.csv", piece: int = 200) -> None:
    for at in range(0, len(content), piece):
        answer = page.client.post(
            "/api/uploads",
            params={"upload": UPLOAD, "name": name, "at": at},
            content=content[at : at + piece],
            headers={"content-type": "application/octet-stream"},
        )
        assert answer.status_code == 200, answer.text


def test_what_was_sent_is_added_and_every_page_knows_it(make_page: MakePage, tmp_path: Path) -> None:
    page = make_page()
    page.label_all()
    assert page.get("/api/results")["view"]["line"]["n_items"] == N_ITEMS
    assert page.get("/api/items")["total"] == N_ITEMS
    send(page, more_pumps(tmp_path))
    data = page.post("/api/data", upload=UPLOAD)
    assert data["n_items"] == N_ITEMS + 5
    assert [(each["data"], each["n_added"]) for each in data["changes"]] == [("pumps.csv", N_ITEMS), ("march.csv", 5)]
    assert data["changes"][1]["who"] == "expert"
    status = page.get("/api/status")
    assert (status["n_items"], status["fit_is_current"]) == (N_ITEMS + 5, False)
    assert page.get("/api/results")["view"]["line"]["n_items"] == N_ITEMS + 5
    assert page.get("/api/items")["total"] == N_ITEMS + 5
    newest = page.view_model.session.ids[-1]
    assert page.get("/api/item", id=newest)["item"] == newest
    assert len(page.client.get("/api/map").content) == (N_ITEMS + 5) * 16
    assert page.client.get("/api/scores.csv").text.count("\n") == N_ITEMS + 6
    assert not (page.view_model.session.folder.path / "uploads" / UPLOAD).exists(), "a copy of the table is kept"
    page.post("/api/more", n=3)
    page.label_all()
    assert page.get("/api/status")["fit_is_current"]


def test_a_file_that_does_not_fit_is_said_and_changes_nothing(page: Page, tmp_path: Path) -> None:
    assert "Nothing was sent" in page.post("/api/data", 409, upload=UPLOAD)["error"]
    known = page.view_model.session.ids[0]
    head, *rows = more_pumps(tmp_path).decode().splitlines()
    send(page, "\n".join([head, rows[0].replace(rows[0].split(",")[0], known, 1)]).encode())
    assert "are in the session already" in page.post("/api/data", 422, upload=UPLOAD)["error"]
    assert page.get("/api/data")["n_items"] == N_ITEMS
    assert page.post("/api/data", upload=UPLOAD, replace=True)["changes"][1]["n_replaced"] == 1


@pytest.mark.parametrize(("goal", "words"), [("learn", "learns most from each answer"), ("find", "as many anomalies")])
def test_the_goal_is_said_in_plain_words(make_page: MakePage, goal: str, words: str) -> None:
    assert words in make_page(goal=goal).client.get("/data").text


def test_names_are_the_owners_and_shown_on_every_page(page: Page) -> None:
    body = {"name": "Pumps, north", "description": "One row an hour"}
    assert page.client.put("/api/description", json=body).json()["name"] == "Pumps, north"
    assert "Pumps, north" in page.client.get("/review").text
    ann = page.user("ann")
    assert ann.get("/api/data").json()["description"] == "One row an hour"
    assert ann.put("/api/description", json=body).status_code == 403
    assert page.client.put("/api/description", json=body | {"name": "two\nlines"}).status_code == 409


@pytest.mark.parametrize("name", ["../out.csv", "/etc/passwd", ".hidden", "a\\b.csv", "nul\x00.csv", "..", " ", ""])
def test_a_name_that_could_lead_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be the name of a file"):
        Uploads(tmp_path).write(UPLOAD, name, 0, b"x")
    assert list(tmp_path.rglob("*")) == []


def test_a_name_too_long_for_a_disk_is_shortened(tmp_path: Path) -> None:
    Uploads(tmp_path).write(UPLOAD, "ü" * 180 + ".csv", 0, b"x")
    assert Uploads(tmp_path).data(UPLOAD).name == "ü" * 98 + ".csv"


def test_pieces_follow_one_another_and_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uploads = Uploads(tmp_path)
    assert uploads.write(UPLOAD, "a.csv", 0, b"12345") == 5
    with pytest.raises(SessionError, match="is here up to byte 5, and a piece came for byte 3"):
        uploads.write(UPLOAD, "a.csv", 3, b"45")
    assert uploads.write(UPLOAD, "a.csv", 5, b"67") == 7
    assert uploads.data(UPLOAD).read_bytes() == b"1234567"
    uploads.write(UPLOAD, "b.csv", 0, b"1")
    assert uploads.data(UPLOAD).is_dir(), "several files are a folder"
    monkeypatch.setattr(uploads_module, "MOST_BYTES", 8)
    with pytest.raises(DataError, match="larger than"):
        uploads.write(UPLOAD, "a.csv", 7, b"89")


def test_what_was_never_added_gives_way_and_what_is_kept_stays(tmp_path: Path) -> None:
    uploads, second, third = Uploads(tmp_path), "1" * 16, "2" * 16
    uploads.write(UPLOAD, "a.png", 0, b"1")
    uploads.keep(UPLOAD)
    uploads.write(second, "a.png", 0, b"1")
    uploads.write(third, "a.png", 0, b"1")
    assert sorted(path.name for path in (tmp_path / "uploads").iterdir()) == [UPLOAD, third]
    uploads.remove(UPLOAD)
    assert (tmp_path / "uploads" / UPLOAD).exists(), "only what carries our mark is removed"
    assert (tmp_path / "uploads").stat().st_mode & 0o777 == 0o700


def test_of_two_pieces_for_the_same_byte_one_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uploads, both_here = Uploads(tmp_path), threading.Barrier(2)
    uploads.write(UPLOAD, "a.csv", 0, b"0")
    stat = Path.stat

    def slow_stat(path: Path, **options: bool) -> os.stat_result:
        found = stat(path, **options)
        if path.name == "a.csv":
            time.sleep(0.05)  # whoever looks at the size may be overtaken before the piece is written
        return found

    def send(piece: bytes) -> int | SessionError:
        both_here.wait()
        try:
            return Uploads(tmp_path).write(UPLOAD, "a.csv", 1, piece)
        except SessionError as error:
            return error

    monkeypatch.setattr(Path, "stat", slow_stat)
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(send, (b"aaa", b"bbb")))
    assert sum(each == 4 for each in said) == 1, said
    assert any("up to byte 4" in str(each) for each in said), said
    assert uploads.data(UPLOAD).read_bytes() in (b"0aaa", b"0bbb")


def test_an_upload_that_is_being_added_does_not_give_way(tmp_path: Path) -> None:
    uploads, second = Uploads(tmp_path), "1" * 16
    uploads.write(UPLOAD, "a.csv", 0, b"1")
    with hold_lock(tmp_path / worker.LOCK):
        uploads.write(second, "b.csv", 0, b"1")
        assert uploads.data(UPLOAD).read_bytes() == b"1"
    uploads.write("2" * 16, "c.csv", 0, b"1")
    assert not uploads.folder(UPLOAD).exists(), "afterwards it does"


def test_annotators_see_the_data_page_without_its_forms(page: Page) -> None:
    mine, theirs = page.client.get("/data").text, page.user("ann").get("/data").text
    assert 'id="add"' in mine
    assert 'id="questions"' in mine
    assert 'id="add"' not in theirs
    assert 'id="questions"' not in theirs


def test_items_leave_and_every_page_knows_it(make_page: MakePage) -> None:
    page = make_page()
    page.label_all()
    leaving = [item for item in page.view_model.session.ids if item not in page.view_model.session.state.labels][:3]
    data = page.post("/api/removals", items=leaving)
    assert (data["n_items"], data["changes"][-1]["n_removed"]) == (N_ITEMS - 3, 3)
    assert page.work.steps[-1] == "look", "results are of what is left"
    assert page.get("/api/results")["view"]["line"]["n_items"] == N_ITEMS - 3
    assert page.client.get("/api/item", params={"id": leaving[0]}).status_code == 404
    refused = page.client.post("/api/removals", json={"items": [leaving[0]]})
    assert refused.status_code == 404
    assert page.user("Ann").post("/api/removals", json={"items": leaving}).status_code == 403


def test_labels_of_another_session_are_taken_in(make_page: MakePage) -> None:
    page = make_page()
    ids = page.view_model.session.ids
    rows = [f"{ids[0]},anomaly,,Bo", f"{ids[1]},normal,odd,Bo", "elsewhere,normal,,Bo"]
    send(page, "\n".join(["item_id,label,note,who", *rows]).encode(), "labels.csv")
    taken = page.post("/api/labels", upload=UPLOAD)
    assert (taken["n_stored"], taken["n_left_out"], taken["by"]) == (2, 1, "id")
    assert page.view_model.session.state.answers[ids[0]].votes[0].who == "Bo"
    assert page.client.post("/api/labels", json={"upload": UPLOAD}).status_code == 409, "it is gone"
    send(page, b"nothing,here\n1,2\n", "labels.csv")
    assert "lacks the column" in page.client.post("/api/labels", json={"upload": UPLOAD}).json()["error"]


def test_how_columns_were_read_is_listed_also_when_all_are_sure(page: Page) -> None:
    columns = {column["name"]: column for column in page.get("/api/columns")}
    assert (columns["site"]["kind"], columns["running hours"]["kind"]) == ("category", "number")
    assert all(column["examples"] for column in columns.values())
