"""The API behind the results and the team page, in process."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from soel.tables.rows import read_rows
from tests.web.conftest import BUDGET, N_ITEMS, MakePage, Page


@pytest.fixture
def trained(page: Page) -> Page:
    page.label_all()
    return page


def test_there_are_no_results_before_a_training(page: Page) -> None:
    for path in ("/api/results", "/api/map", "/api/scores.csv"):
        answer = page.client.get(path)
        assert (answer.status_code, "no results yet" in answer.json()["error"]) == (409, True)


def test_results_agree_with_the_session(still: Page) -> None:
    results, scored = still.get("/api/results"), still.view_model.session.score()
    top = still.get("/api/items")["items"]
    assert [each["item"] for each in top] == [scored.ids[row] for row in np.argsort(scored.ranks)[:20]]
    assert [each["rank"] for each in top] == list(range(1, 21))
    assert results["view"]["line"]["share"]["value"] == still.view_model.session.state.estimate.value  # type: ignore[union-attr]
    assert len(results["labelled"]) == BUDGET
    assert all(still.get("/api/row", row=each["row"])["item"] == each["item"] for each in results["labelled"])
    assert results["view"]["advice"][0].startswith("Too early")


def test_the_map_holds_every_item(still: Page) -> None:
    values = np.frombuffer(still.client.get("/api/map").content, "<f4").reshape(4, N_ITEMS)
    np.testing.assert_allclose(values[2], still.view_model.session.score().scores, rtol=1e-5)
    assert np.ptp(values[0]) > np.ptp(values[1]) > 0, "the first direction spreads most"


def test_scores_come_as_csv_and_parquet_at_the_chosen_threshold(still: Page, tmp_path: Path) -> None:
    scores = still.view_model.session.score().scores
    cut = float(np.sort(scores)[-4])
    answer = still.client.get("/api/scores.csv", params={"threshold": cut})
    assert "attachment" in answer.headers["content-disposition"]
    path = tmp_path / "scores.csv"
    path.write_bytes(answer.content)
    assert sum(row["alarm"] == "True" for row in read_rows(path)) == 3
    content = still.client.get("/api/scores.parquet", params={"threshold": cut}).content
    table = pyarrow.parquet.read_table(io.BytesIO(content))
    assert (table.num_rows, sum(table["alarm"].to_pylist())) == (N_ITEMS, 3)
    assert still.client.get("/api/scores.csv", params={"threshold": "nan"}).status_code == 422


def test_confirming_a_top_item_is_a_new_label(trained: Page) -> None:
    top = next(top for top in trained.get("/api/items")["items"] if top["verdict"] is None)
    trained.post("/api/answers", item=top["item"], verdict="anomaly")
    results = trained.get("/api/results")
    assert len(results["labelled"]) == BUDGET + 1
    assert not results["fit_is_current"]
    assert (top["item"], "anomaly") in {(each["item"], each["verdict"]) for each in results["labelled"]}


def test_looking_at_results_imports_no_model(trained: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained.view_model.session, "learner", None)
    for path in ("/api/results", "/api/map", "/api/scores.csv", "/api/team", "/api/decisions", "/results"):
        assert trained.client.get(path).status_code == 200


def test_the_team_sees_where_it_differs_and_the_owner_decides(make_page: MakePage) -> None:
    page = make_page(answers_per_item=2)
    ann = page.user("ann")
    items = page.get("/api/status")["open"]
    for number, item in enumerate(items[:4]):
        page.post("/api/answers", item=item, verdict="normal")
        ann.post("/api/answers", json={"item": item, "verdict": "anomaly" if number == 3 else "normal"})
    team = page.get("/api/team")
    assert [entry["item"] for entry in team["disagreements"]] == [items[3]]
    assert "agree on 3 of 4" in team["agreement"]
    (told,) = [person for person in team["annotators"] if person["name"] == "ann"]
    assert (told["n_answers"], told["n_anomaly"], told["n_normal"], told["n_aside"]) == (4, 1, 3, 0)
    assert told["seconds"] > 0
    assert team["disagreements"][0]["fields"], "the item itself is shown"
    assert ann.post("/api/decisions", json={"item": items[3], "verdict": "normal"}).status_code == 403
    assert page.post("/api/decisions", item=items[3], verdict="anomaly")["disagreements"] == []
    assert page.get("/api/decisions")["decisions"][0] | {"notes": []} == {
        "item": items[3], "title": items[3], "kind": "table", "verdict": "anomaly", "mine": "normal",
        "who": ["ann", "expert"], "decided": True, "notes": [], "because": [],
    }  # fmt: skip


def test_an_invitation_lets_one_person_in_once(page: Page) -> None:
    made = page.post("/api/invitations", name="  Ann  Bo ")
    assert made["name"] == "Ann Bo"
    assert "your own name" in page.post("/api/invitations", 409, name="expert")["error"]
    assert "looks like 'expert'" in page.post("/api/invitations", 422, name="\u0415\u0445\u0440\u0435rt")["error"]
    assert "looks like 'Ann Bo'" in page.post("/api/invitations", 422, name="ann bo")["error"]
    assert "taken for you" in page.post("/api/invitations", 409, name="Owner")["error"]
    page.post("/api/invitations", 422, name="s0el")
    guest = page.user("x")
    guest.cookies.clear()
    key = made["path"].removeprefix("/enter?key=")
    assert guest.get(made["path"]).status_code == 200, "looking at the link does not use it"
    assert guest.post("/enter", data={"key": key}).status_code == 303
    assert guest.get("/api/status").json()["who"] == "Ann Bo"
    assert guest.post("/api/invitations", json={"name": "Cy"}).status_code == 403
    guest.cookies.clear()
    assert guest.post("/enter", data={"key": key}).status_code == 403


def test_scores_and_labels_come_in_every_form(still: Page, tmp_path: Path) -> None:
    from openpyxl import load_workbook

    entries = still.client.get("/api/scores.json").json()
    assert [entry["rank"] for entry in entries] == list(range(1, len(entries) + 1))
    (tmp_path / "scores.xlsx").write_bytes(still.client.get("/api/scores.xlsx").content)
    sheet = load_workbook(tmp_path / "scores.xlsx").active
    rows = list(sheet.iter_rows(values_only=True))
    assert len(rows) == len(entries) + 1
    assert rows[1][0] == entries[0]["pump"]
    labels = still.client.get("/api/labels.json").json()["labels"]
    assert len(labels) == len(still.view_model.session.state.labels)
    assert still.client.get("/api/scores.html").status_code == 422
    assert still.client.get("/api/labels.parquet").status_code == 422
    chosen = still.client.get("/api/items.json", params={"label": "labelled"}).json()
    assert {entry["label"] for entry in chosen} <= {"anomaly", "normal"}
    assert len(chosen) == len(labels)
