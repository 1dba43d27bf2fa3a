"""Checking the result on the page, and what is not sure, in process."""

from __future__ import annotations

import re

import pytest

from tests.web.conftest import N_ITEMS, MakePage, Page


@pytest.fixture
def trained(page: Page) -> Page:
    page.label_all()
    return page


def test_before_a_training_there_is_nothing_to_check_or_to_doubt(page: Page) -> None:
    for purpose in ("check", "not-sure"):
        assert page.client.post("/api/more", json={"n": 5, "purpose": purpose}).status_code == 409


def test_a_check_is_drawn_answered_and_judged(trained: Page) -> None:
    before = trained.get("/api/results")
    assert before["view"]["quality"] == []
    status = trained.post("/api/more", n=8, purpose="check")
    assert (status["stage"], status["is_check"], status["n_left"]) == ("label", True, 8)
    assert trained.work.steps[-1] == "check"
    n_fits = trained.work.steps.count("fit")
    trained.label_all()
    assert trained.work.steps.count("fit") == n_fits + 1, "a check teaches as well"
    assert trained.get("/api/results")["view"]["quality"][0].startswith("Spot check of 8 items drawn by chance")
    quality = trained.view_model.session.quality()
    assert quality is not None
    assert quality.promised_alarms is not None
    words = trained.get("/api/results")["view"]["quality"]
    assert sum(f"promise {round(quality.promised_alarms)} real alarms" in line for line in words) == 1


def test_how_much_a_check_would_tell_is_foreseen(trained: Page) -> None:
    words = trained.get("/api/results")["view"]["foreseen"]
    assert [line.split(" items")[0].rsplit(" ", 1)[1] for line in words] == ["10", "20", "40"]
    widths = [[int(number) for number in re.findall(r"(\d+) points", line)] for line in words]
    assert widths == sorted(widths, reverse=True)


def test_what_is_not_sure_is_counted_listed_and_asked_next(trained: Page) -> None:
    words = trained.get("/api/results")["view"]["unsure"]
    found = trained.get("/api/items", unsure=True, size=100)
    labels = trained.view_model.session.state.labels
    assert 0 < found["total"] < N_ITEMS
    assert words.startswith(f"{found['total']} items without a label are not sure")
    unsure = {each["item"] for each in found["items"]}
    assert not unsure & set(labels)
    status = trained.post("/api/more", n=3, purpose="not-sure")
    assert not status["is_check"]
    assert set(trained.view_model.session.state.open) <= unsure


def test_others_than_the_owner_cannot_ask_for_a_check(trained: Page) -> None:
    ann = trained.user("ann")
    assert ann.post("/api/more", json={"n": 5, "purpose": "check"}).status_code == 403
    assert trained.client.post("/api/more", json={"n": 5, "purpose": "fun"}).status_code == 422


def test_a_count_of_alarms_promises_nothing(trained: Page) -> None:
    assert trained.get("/api/results")["view"]["promise"] == "Threshold: the estimated number of anomalies."


@pytest.mark.parametrize(
    ("rule", "says", "holds"),
    [
        ("false-alarms=0.2", "At most 20 % of new normal items", "Guaranteed at this threshold if new normal items"),
        ("false-alarms=0.005", "No item can raise an alarm", "to guarantee 0.5 %, 199 normal items"),
        ("fdr=0.1", "at most 10 % of the alarms", "Not guaranteed: it holds if the probabilities are right"),
        ("cost=20:1", "(20 to 1)", "Not guaranteed: it holds if the probabilities are right"),
    ],
)
def test_a_rule_that_promises_says_so_on_the_results(make_page: MakePage, rule: str, says: str, holds: str) -> None:
    page = make_page(threshold=rule)
    page.label_all()
    words = page.get("/api/results")["view"]["promise"]
    assert says in words
    assert holds in words
    assert says in page.client.get("/results").text
