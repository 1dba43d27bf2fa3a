from __future__ import annotations

from dataclasses import replace

from soel.explain import Reason, RowExplanation
from soel.session.people import Agreement
from soel.session.pool_records import HeldBack, StoppingAdvice, Why
from soel.text import ENGLISH, texts_in
from soel.web.sentences import advice_words, agreement_words, reason_fields, why_words

WHY = Why("a", 1, 2.0, 0.95, 0.1, "b", 3.0, 0.97, 12, 0.12)


def test_why_says_far_unusual_and_for_how_many() -> None:
    far, unusual, speaks = why_words(WHY, 100)
    assert "97 % of the items are closer to a labelled one" in far
    assert "very unusual: more so than 95 %" in unusual
    assert "12 of 100 items" in speaks


def test_why_of_an_ordinary_item_close_to_a_label() -> None:
    ordinary = replace(WHY, distance_share=0.2, score_share=0.3, n_near=1)
    far, unusual, speaks = why_words(ordinary, 100, {"b": "disc 7.png"}.__getitem__)
    assert far == "It is much like an item that is labelled already: disc 7.png."
    assert "ordinary: 70 %" in unusual
    assert "stands for no other item" in speaks
    assert "rather unlike" in why_words(replace(WHY, distance_share=0.7, score_share=0.7), 100)[0]


def test_worth_begins_with_the_advice() -> None:
    held_back = HeldBack(1, 10, 0.8), HeldBack(2, 10, None)
    advice = StoppingAdvice(20, 3, 5, 2.0, 1.0, 0.9, share=0.1, doubt=0.04, moved=0.03, held_back=held_back)
    words = advice_words(advice)
    assert words[0].startswith("Yes")
    assert "The 5 newest labels brought the least known item 50 % closer" in words[1]
    assert "still changed by this training (90 % alike)" in words[2]
    assert "80 % of the pairs in round 1" in words[3]
    assert "round 2" not in words[3]
    assert advice_words(replace(advice, moved=0.001))[0].startswith("Little")
    assert advice_words(replace(advice, n_anomalies=0))[0].startswith("Go on: no anomaly was found yet")
    assert advice_words(replace(advice, moved=None)) == words[1:], "the share was given"
    assert advice_words(replace(advice, n_labels=3))[0] == "Too early to say with 3 labels."
    assert advice_words(replace(advice, n_labels=1))[0] == "Too early to say with 1 label."
    assert advice_words(None)[0].startswith("Unknown")


def test_agreement_is_told_without_a_statistic() -> None:
    assert "No item" in agreement_words(Agreement("none", None, (), 0, 0))
    assert "agree on 3 of 4 items" in agreement_words(Agreement("cohen", 0.5, ("a", "b"), 4, 3))
    assert "somewhat more than chance" in agreement_words(Agreement("cohen", 0.5, ("a", "b"), 4, 3))
    assert "far more than chance" in agreement_words(Agreement("cohen", 0.8, ("a", "b"), 4, 3))
    assert "talk about the guideline" in agreement_words(Agreement("cohen", -0.1, ("a", "b"), 1, 0))
    assert agreement_words(Agreement("fleiss", None, ("a", "b", "c"), 4, 4)).endswith("labelled.")


def test_percent_never_rounds_to_certainty() -> None:
    assert [ENGLISH.percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == [
        "0 %", "0.1 %", "50 %", "> 99 %", "100 %"
    ]  # fmt: skip


def test_a_share_that_others_lie_below_is_rounded_down() -> None:
    assert [ENGLISH.more_than(share) for share in (0.004, 0.976, 0.9991, 1)] == ["0.4 %", "97 %", "99 %", "100 %"]


def test_reasons_write_numbers_as_the_language_does_and_leave_codes_alone() -> None:
    reasons = (
        Reason(("speed",), ("1401.25",), ("1480.5",), 0.4, 0, -1),
        Reason(("site",), ("0815",), ("4711",), 0.2, 1, 0),
    )
    why = RowExplanation(3.0, 1, True, "#5", 5, 0.0, reasons, 2.4, 90, True)
    english, german = (reason_fields(why, texts) for texts in (ENGLISH, texts_in("de")))
    assert [field.value for field in english] == ["1,401.25", "0815"]
    assert [field.value for field in german] == ["1.401,25", "0815"]
    assert "1.480,5" in german[0].words
    assert "4711" in german[1].words
    assert reason_fields(replace(why, is_alarm=False), ENGLISH) == []  # who labels is not told what would be an alarm
