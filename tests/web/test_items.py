"""All items, searched, filtered, sorted, paged and exported; the gallery of alarms is one such selection."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.errors import UnknownItemError
from soel.report.outcome import Outcome
from soel.session import SessionState
from soel.session.labels import read_labels
from soel.tables.frame import Frame
from soel.tables.rows import read_rows
from soel.web.cards import Look, TableView
from soel.web.item_list import ItemList, ItemQuery
from tests.web.conftest import BUDGET, N_ITEMS, Page

N_MANY, PATIENCE = 100_000, 0.1  # seconds


def items(page: Page, **query: Any) -> list[str]:
    return [each["item"] for each in page.get("/api/items", size=100, **query)["items"]]


def test_alarms_come_unlabelled_first_and_by_score(still: Page) -> None:
    scores = dict(zip(still.view_model.session.ids, still.view_model.session.score().scores, strict=True))
    cut = float(np.sort(list(scores.values()))[-31])
    found = still.get("/api/items", alarms=True, threshold=cut, sort="unlabelled", size=100)
    assert found["total"] == 30
    assert all(scores[each["item"]] > cut for each in found["items"])
    labelled = [each["verdict"] is not None for each in found["items"]]
    assert labelled == sorted(labelled)
    assert any(labelled)
    free = [each["score"] for each in found["items"] if each["verdict"] is None]
    assert free == sorted(free, reverse=True)


def test_pages_hold_every_item_once(still: Page) -> None:
    pages = [still.get("/api/items", page=page, size=30) for page in (1, 2, 3, 99)]
    seen = [each["item"] for page in pages[:3] for each in page["items"]]
    assert sorted(seen) == sorted(still.view_model.session.ids)
    assert (pages[0]["total"], pages[0]["n_pages"], pages[3]["page"]) == (N_ITEMS, 3, 3)


def test_what_was_said_and_who_said_it_can_be_asked_for(page: Page) -> None:
    open_items = page.get("/api/status")["open"]
    page.post("/api/answers", item=open_items[0], verdict="anomaly")
    page.post("/api/answers", item=open_items[1], verdict="unsure")
    page.user("ann").post("/api/answers", json={"item": open_items[2], "verdict": "normal"})
    assert items(page, label="anomaly") == [open_items[0]]
    assert items(page, label="aside") == [open_items[1]]
    assert set(items(page, label="labelled")) == {open_items[0], open_items[2]}
    assert len(items(page, label="unlabelled")) == N_ITEMS - 2
    assert items(page, person="ann") == [open_items[2]]
    assert items(page, person="ann", label="anomaly") == []
    assert page.get("/api/items")["people"] == ["ann", "expert"]


def test_names_and_columns_are_searched(still: Page) -> None:
    assert items(still, search=" p-1007") == ["P-1007"]
    assert len(items(still, search="100")) == 9
    frame = still.view_model.items.columns()
    yard = [item for item, site in zip(still.view_model.session.ids, frame["site"], strict=True) if site == "Yard"]
    assert sorted(items(still, column="site", op="is", value="yard")) == sorted(yard)
    assert set(items(still, column="site", op="has", value="hall")).isdisjoint(yard)
    hot = frame["bearing temperature (°C)"] > 66
    assert len(items(still, column="bearing temperature (°C)", op="above", value="66")) == int(hot.sum()) > 0
    assert items(still, column="site", op="missing", value="") == []
    refused = still.client.get("/api/items", params={"column": "sight", "value": "x"})
    assert (refused.status_code, "no column 'sight'" in refused.json()["error"]) == (404, True)
    refused = still.client.get("/api/items", params={"column": "flow (l/min)", "op": "above", "value": "much"})
    assert "no number" in refused.json()["error"]


def test_scores_bound_and_sort(still: Page) -> None:
    scores = still.view_model.session.score().scores
    low, high = (float(value) for value in np.quantile(scores, (0.4, 0.6)))
    found = still.get("/api/items", low=low, high=high, sort="low_score", size=100)["items"]
    assert [each["score"] for each in found] == sorted(score for score in scores if low <= score <= high)
    assert items(still, sort="name") == sorted(still.view_model.session.ids)
    assert items(still, sort="row") == list(still.view_model.session.ids)


def test_an_item_stands_beside_an_ordinary_and_a_labelled_one(still: Page) -> None:
    shown = [still.get("/api/alarm", id=item) for item in items(still, alarms=True)]
    assert shown
    for each in shown:
        wanted = [other for other in (each["ordinary"], each["alarm"]["resembles"]) if other is not None]
        assert all(len(field["others"]) == len(wanted) for field in each["fields"])
        changed = [field["changed"] for field in each["fields"]]
        assert changed == sorted(changed, reverse=True), "what would have to change comes first"
    assert any(each["ordinary"] for each in shown)


def test_before_a_training_there_is_a_list_without_scores(page: Page) -> None:
    first = page.get("/api/items", alarms=True)["items"][0]
    assert (first["rank"], first["score"], first["probability"]) == (None, None, None)


def test_a_selection_is_exported_with_its_own_columns(still: Page, tmp_path: Path) -> None:
    answer = still.client.get("/api/items.csv", params={"label": "labelled"})
    (tmp_path / "items.csv").write_bytes(answer.content)
    rows = read_rows(tmp_path / "items.csv")
    assert len(rows) == BUDGET
    assert {row["label"] for row in rows} == {"anomaly", "normal"}
    assert rows[0]["site"]
    assert [int(row["rank"]) for row in rows] == sorted(int(row["rank"]) for row in rows)
    assert "attachment" in answer.headers["content-disposition"]


def test_labels_are_downloaded(still: Page, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes(still.client.get("/api/labels.csv").content)
    rows = read_rows(tmp_path / "labels.csv")
    assert len(rows) == BUDGET
    assert {row["who"] for row in rows} == {"expert"}
    assert all(row["pump"] == row["item_id"] for row in rows), "under the name that people gave the column"
    (tmp_path / "labels.xlsx").write_bytes(still.client.get("/api/labels.xlsx").content)
    assert len(read_labels(tmp_path / "labels.xlsx")) == BUDGET


@pytest.fixture(scope="module")
def many() -> tuple[ItemList, Outcome]:
    rng = np.random.default_rng(0)
    ids = [f"item {row}" for row in range(N_MANY)]
    sites = np.array(["north", "south", "east"], object)[rng.integers(0, 3, N_MANY)]
    view = TableView(ids, lambda: Frame({"x": rng.normal(size=N_MANY), "site": sites}, named=True))
    outcome = Outcome(rng.normal(size=N_MANY), rng.random(N_MANY), np.zeros((N_MANY, 2), np.float32), -10.0)
    found = ItemList(ids, view)
    found.rows(ItemQuery(search="item", sort="name"), SessionState(10), outcome)  # what is computed once
    return found, outcome


@pytest.mark.parametrize(
    "wanted",
    [
        ItemQuery(alarms=True, sort="unlabelled"),
        ItemQuery(alarms=True, search="99", sort="name"),
        ItemQuery(alarms=True, column="site", op="is", value="south"),
        ItemQuery(alarms=True, column="x", op="above", value="1", sort="low_score"),
    ],
)
def test_a_page_of_100000_alarms_takes_less_than_a_tenth_of_a_second(
    many: tuple[ItemList, Outcome], wanted: ItemQuery
) -> None:
    found, outcome = many
    times = []
    for _ in range(5):
        start = time.process_time()
        rows = found.rows(wanted, SessionState(10), outcome)
        for row in rows[:20]:
            found.items.card(found.ids[row], {}, Look(most=3))
        times.append(time.process_time() - start)
    assert len(rows) > 10_000 or wanted.search
    assert min(times) < PATIENCE


def test_an_unknown_column_is_named(many: tuple[ItemList, Outcome]) -> None:
    with pytest.raises(UnknownItemError, match="no column 'y'"):
        many[0].rows(ItemQuery(column="y", value="1"), SessionState(10), many[1])


def test_p_values_and_patterns_are_asked_for(many: tuple[ItemList, Outcome]) -> None:
    found, outcome = many
    state = SessionState(10)
    rare = found.rows(ItemQuery(p=0.001), state, outcome)
    assert len(rare) == np.sum(outcome.p_values <= 0.001) == 99
    patterns = {found.ids[row]: 1 + at % 2 for at, row in enumerate(rare[:10])}
    assert found.rows(ItemQuery(pattern=2), state, outcome, patterns).tolist() == rare[1:10:2].tolist()
    ordered = found.rows(ItemQuery(sort="pattern"), state, outcome, patterns)
    assert ordered[:10].tolist() == [*rare[:10:2], *rare[1:10:2]]
