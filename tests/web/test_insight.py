"""While people label: found so far, how the estimate moves, and whether to go on."""

from __future__ import annotations

from soel.session import SessionState
from soel.text import ENGLISH
from soel.web.findings import insight_words
from soel.web.schemas import ShareEstimate
from tests.web.conftest import MakePage, Page


def test_it_is_live(page: Page) -> None:
    assert page.get("/api/insight") == {"words": ["Nothing is labelled yet."], "history": []}
    items = page.get("/api/status")["open"]
    page.post("/api/answers", item=items[0], verdict="anomaly")
    first = page.get("/api/insight")
    assert first["words"][0] == "1 anomaly found in 1 label"
    assert first["words"][-1].startswith("Go on")
    page.post("/api/answers", item=items[1], verdict="normal")
    second = page.get("/api/insight")
    assert [point["n_labels"] for point in second["history"]] == [1, 2]
    assert all(0 <= point["low"] <= point["value"] <= point["high"] <= 1 for point in second["history"])
    assert "look anomalous" in second["words"][1]
    page.undo()
    assert [point["n_labels"] for point in page.get("/api/insight")["history"]] == [1]


def test_who_may_not_know_all_answers_is_told_no_estimate(make_page: MakePage) -> None:
    page = make_page(answers_per_item=2)
    page.user("ann").post("/api/answers", json={"item": page.get("/api/status")["open"][0], "verdict": "anomaly"})
    assert page.get("/api/insight") == {"words": ["Nothing is labelled yet."], "history": []}


def test_a_share_that_the_owner_gave_is_not_estimated(make_page: MakePage) -> None:
    page = make_page(contamination=0.05)
    items = page.get("/api/status")["open"]
    page.post("/api/answers", item=items[0], verdict="normal")
    told = page.get("/api/insight")
    assert told["history"] == []
    assert told["words"][1] == "The owner gave the share of anomalies: 5 %."
    assert told["words"][2].startswith("Go on: no anomaly")
    page.post("/api/answers", item=items[1], verdict="anomaly")
    assert len(page.get("/api/insight")["words"]) == 2


class Seen:
    def __init__(self, n_labels: int, n_anomalies: int) -> None:
        self.labels, self.n_anomalies = dict.fromkeys(range(n_labels)), n_anomalies


def advice(points: list[ShareEstimate], n_labels: int, n_anomalies: int) -> str:
    seen: SessionState = Seen(n_labels, n_anomalies)  # type: ignore[assignment]
    return insight_words(tuple(points), seen, ENGLISH)[-1]


def test_the_advice_follows_the_estimate() -> None:
    steady = [ShareEstimate(n, 0.1, 0.08, 0.12) for n in range(1, 21)]
    moving = [ShareEstimate(n, 0.02 * n, 0.02 * n - 0.02, 0.02 * n + 0.02) for n in range(1, 21)]
    doubtful = [ShareEstimate(n, 0.1, 0.0, 0.6) for n in range(1, 21)]
    assert advice(steady, 20, 3).startswith("The estimate has settled")
    assert advice(moving, 20, 3).startswith("Go on: the newest answers still changed")
    assert advice(doubtful, 20, 3).startswith("Go on")
    assert advice(steady[:4], 4, 1).startswith("Go on: it is too early")
    assert advice(steady, 20, 0).startswith("Go on: no anomaly was found yet")
