"""The API behind labelling, in process."""

from __future__ import annotations

import pytest

from tests.web.conftest import BUDGET, N_ITEMS, MakePage, Page


def test_a_fresh_session_is_prepared_with_the_whole_budget(page: Page) -> None:
    status = page.get("/api/status")
    assert page.work.steps == ["ask"]
    assert (status["stage"], len(status["open"]), status["n_left"], status["n_items"]) == (
        "label",
        BUDGET,
        BUDGET,
        N_ITEMS,
    )


def test_an_answer_moves_on_and_an_undo_comes_back(page: Page) -> None:
    first = page.post("/api/turn", tab="t")["open"][0]
    status = page.post("/api/answers", item=first, verdict="anomaly", note=" leaks ", tab="t")
    assert (status["n_labels"], status["n_anomalies"], status["mine"]) == (1, 1, [first])
    assert first not in status["open"]
    assert page.get("/api/item", id=first)["note"] == "leaks"
    event = status["undo"]["event"]
    status = page.post("/api/undo", tab="t", event=event)
    assert (status["n_labels"], status["mine"], status["undo"]) == (0, [], None)
    assert first in status["open"]
    assert "not the newest answer" in page.post("/api/undo", 409, event=event + 1)["error"]


@pytest.mark.parametrize("verdict", ["skip", "unsure"])
def test_setting_aside_costs_no_budget_and_gives_another_item(page: Page, verdict: str) -> None:
    before = page.get("/api/status")
    status = page.post("/api/answers", item=before["open"][0], verdict=verdict)
    assert (status["n_left"], len(status["open"])) == (BUDGET, BUDGET)
    assert before["open"][0] not in status["open"]


def test_the_last_answer_starts_the_training(page: Page) -> None:
    page.label_all()
    status = page.get("/api/status")
    assert page.work.steps == ["ask", "fit"]
    assert (status["stage"], status["has_results"], status["fit_is_current"]) == ("done", True, True)


def test_a_changed_answer_waits_for_a_training_that_is_asked_for(page: Page) -> None:
    page.label_all()
    told = page.get("/api/decisions")["decisions"][0]
    other = "normal" if told["mine"] == "anomaly" else "anomaly"
    status = page.post("/api/answers", item=told["item"], verdict=other)
    assert (page.work.steps, status["fit_is_current"]) == (["ask", "fit"], False)
    assert page.post("/api/train")["fit_is_current"]
    assert page.get("/api/decisions")["decisions"][0]["mine"] == other


def test_ten_more_raise_the_budget(page: Page) -> None:
    assert "still open" in page.post("/api/more", 409)["error"]
    page.label_all()
    status = page.post("/api/more", n=10)
    assert (status["budget"], status["n_left"], len(status["open"]), status["stage"]) == (BUDGET + 10, 10, 10, "label")


def test_work_that_failed_says_so_and_can_be_begun_again(make_page: MakePage) -> None:
    page = make_page(prepared=False)
    page.work.fails = True
    status = page.post("/api/go-on")
    assert (status["stage"], status["work"]["error"]) == ("preparing", "The disk is full.")
    page.work.fails = False
    assert page.post("/api/go-on")["stage"] == "label"


def test_nothing_is_begun_twice(page: Page) -> None:
    from soel.session.worker import JobStatus

    page.work.state = JobStatus("fit", True, 1, 10)
    page.view_model.go_on()
    assert page.work.steps == ["ask"]
    assert "at work" in page.post("/api/train", 409)["error"]
    assert "at work" in page.post("/api/more", 409)["error"]


def test_a_note_is_kept_without_an_answer_and_shown_to_others_after_their_own(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    page.post("/api/notes", item=item, note="look at the bearing")
    assert page.get("/api/item", id=item)["note"] == "look at the bearing"
    ann = page.user("ann")
    assert ann.get("/api/item", params={"id": item}).json()["notes"] == []
    ann.post("/api/answers", json={"item": item, "verdict": "normal"})
    other = ann.get("/api/item", params={"id": item}).json()
    assert (other["note"], other["notes"]) == ("", [{"who": "expert", "text": "look at the bearing"}])


def test_why_is_told_in_plain_words(page: Page) -> None:
    items = page.get("/api/status")["open"]
    first = page.get("/api/why", id=items[0])
    assert "Nothing is labelled yet" in first[0]
    page.post("/api/answers", item=items[0], verdict="normal")
    second = page.get("/api/why", id=items[1])
    assert len(second) == 3
    assert "label" in second[0]
    never = next(
        item for item in page.view_model.session.ids if item not in page.view_model.session.state.rounds[0].items
    )
    assert "you chose to look at it" in page.get("/api/why", id=never)[0]


def test_two_windows_of_two_people_are_shown_different_items(page: Page) -> None:
    mine = page.post("/api/turn", tab="one")["open"]
    other = page.user("ann")
    theirs = other.post("/api/turn", json={"tab": "two"}).json()["open"]
    assert mine[0] != theirs[0]
    assert mine[0] not in theirs
    assert page.post("/api/turn", tab="one")["open"][0] == mine[0], "a reload shows the same item"


def test_the_guideline_is_the_owners(page: Page) -> None:
    other = page.user("ann")
    refused = other.put("/api/guideline", json={"text": "mine now"})
    assert (refused.status_code, "owner" in refused.json()["error"]) == (403, True)
    saved = page.client.put("/api/guideline", json={"text": "# Fair\n\nNo *names*."}).json()
    assert "<em>names</em>" in saved["html"]
    assert "<em>names</em>" in other.get("/").text
    assert "Write the guideline" not in other.get("/").text
