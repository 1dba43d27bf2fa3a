from __future__ import annotations

import pytest

from soel.errors import LabelError
from soel.session import Answer, as_answers, read_verdict
from soel.types import Verdict


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        *[(word, "anomaly") for word in ("anomaly", "a", "1", " Anomaly ", "A")],
        *[(word, "normal") for word in ("normal", "n", "0", "NORMAL")],
        *[(word, "skip") for word in ("skip", "s")],
        *[(word, "unsure") for word in ("unsure", "u")],
    ],
)
def test_words_and_codes(word: str, verdict: str) -> None:
    assert read_verdict(word) == verdict


@pytest.mark.parametrize("word", ["", "2", "-1", "yes", "label", "undo", "anomalous"])
def test_anything_else_is_refused_with_the_codes(word: str) -> None:
    with pytest.raises(LabelError, match="Use anomaly, normal, skip or unsure"):
        read_verdict(word)


def test_a_label_is_stored_with_its_code_and_note() -> None:
    event = Answer("x", Verdict.ANOMALY, "odd").event("ann")
    assert (event.kind, event.who, event.item) == ("label", "ann", "x")
    assert event.body == {"label": 1, "note": "odd"}
    assert Answer("x", Verdict.NORMAL).event("ann").body == {"label": 0}


def test_a_skip_is_an_event_of_its_own_kind() -> None:
    assert [answer.event("ann").kind for answer in as_answers({"x": "s", "y": "u"})] == ["skip", "unsure"]
