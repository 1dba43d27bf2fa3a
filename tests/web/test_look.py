"""Results on demand, and training that waits for disputes."""

from __future__ import annotations

import pytest

from soel.session.worker import STEPS
from tests.web.conftest import MakePage, Page


@pytest.fixture
def fitted_elsewhere(page: Page) -> Page:
    """A session that was fitted without the page, as on the command line."""
    session = page.view_model.session
    session.tell(dict.fromkeys(session.state.open, "normal"))
    session.fit()
    return page


def label_differently(page: Page, n_disputes: int) -> list[str]:
    """Two people label all open items; of the first ones they say different things."""
    ann, items = page.user("ann"), page.get("/api/status")["open"]
    for item in items:
        page.post("/api/answers", item=item, verdict="normal")
        verdict = "anomaly" if item in items[:n_disputes] else "normal"
        ann.post("/api/answers", json={"item": item, "verdict": verdict})
    return list(items)


def test_results_of_a_fit_on_the_command_line_are_made_when_somebody_looks(fitted_elsewhere: Page) -> None:
    page = fitted_elsewhere
    status = page.get("/api/status")
    assert (status["has_results"], status["results_ready"]) == (True, False)
    assert page.user("ann").post("/api/look").json()["results_ready"]
    assert page.get("/api/results")["view"]["line"]["fitted"]
    page.post("/api/look")
    assert page.work.steps == ["ask", "look"], "what is there is not made again"


def test_a_page_that_is_opened_makes_them_by_itself(fitted_elsewhere: Page) -> None:
    fitted_elsewhere.view_model.go_on()
    assert fitted_elsewhere.get("/api/status")["results_ready"]
    assert "look" in STEPS


def test_a_later_fit_elsewhere_is_looked_at_too(fitted_elsewhere: Page) -> None:
    page = fitted_elsewhere
    page.post("/api/look")
    session = page.view_model.session
    session.tell({page.get("/api/results")["labelled"][0]["item"]: "anomaly"})
    session.fit()
    assert not page.get("/api/status")["results_ready"]
    assert page.post("/api/look")["results_ready"]


def test_there_is_nothing_to_look_at_before_a_fit(page: Page) -> None:
    assert not page.post("/api/look")["results_ready"]
    assert page.work.steps == ["ask"]


def test_training_does_not_start_over_open_disputes(make_page: MakePage) -> None:
    page = make_page(answers_per_item=2)
    items = label_differently(page, 2)
    status = page.get("/api/status")
    assert (page.work.steps, status["n_disputes"], status["stage"]) == (["ask"], 2, "done")
    assert "People disagree on 2 items" in page.post("/api/train", 409)["error"]
    page.post("/api/decisions", item=items[0], verdict="normal")
    assert "on 1 item," in page.post("/api/train", 409)["error"]
    assert page.post("/api/train", despite_disputes=True)["fit_is_current"]
    assert page.work.steps == ["ask", "fit"]


def test_the_last_decision_starts_the_training(make_page: MakePage) -> None:
    page = make_page(answers_per_item=2)
    items = label_differently(page, 1)
    page.post("/api/decisions", item=items[0], verdict="normal")
    assert page.work.steps == ["ask", "fit"]
