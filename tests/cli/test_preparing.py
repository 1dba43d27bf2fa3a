"""What the terminal says while a session is prepared behind its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.api.background import Progress
from soel.cli.verbs_web import Teller, _stopped


def test_a_failure_is_said_once_and_again_when_it_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    tell, failed = Teller(), Progress("create", False, error="The disk is full.")
    for now in (Progress("extract", True, 1, 2), failed, failed):
        tell(now)
    assert capsys.readouterr().err == "The session could not be prepared: The disk is full.\n"
    for again in (Progress("create", True), failed, None):
        tell(again)
    assert capsys.readouterr().err == "The session could not be prepared: The disk is full.\n"


def test_the_last_words_say_how_to_go_on() -> None:
    done, early = (_stopped(Path("a.csv.soel"), is_done, Path("a.csv")) for is_done in (True, False))
    assert (done.text.splitlines()[-1], early.text.splitlines()[-1]) == (
        "Next: soel label a.csv.soel",
        "Next: soel label a.csv",
    )
