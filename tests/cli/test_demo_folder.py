"""The demo's folder is made anew each time, and nobody else's is touched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soel.cli.demo import SESSION, _clear
from soel.cli.main import main
from soel.errors import SessionError


def test_an_own_session_is_not_taken_for_an_old_demo(tmp_path: Path) -> None:
    answers = tmp_path / "out" / SESSION / "events.sqlite"
    answers.parent.mkdir(parents=True)
    answers.write_text("every answer")
    with pytest.raises(SessionError, match="was not made by `soel demo`"):
        _clear(tmp_path / "out")
    assert answers.read_text() == "every answer"


def test_an_old_demo_makes_room_for_a_new_one(tmp_path: Path) -> None:
    _clear(tmp_path / "out")
    (tmp_path / "out" / SESSION).mkdir()
    _clear(tmp_path / "out")
    assert not (tmp_path / "out" / SESSION).exists()
    (tmp_path / "out" / "thesis.txt").touch()
    with pytest.raises(SessionError, match="holds other things"):
        _clear(tmp_path / "out")


def test_the_demo_s_report_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    said = capsys.readouterr().out
    assert re.search(r"Share of anomalies: \d+ % estimated \(80 % interval \d+ to \d+ %\), 10 % true\.", said)
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "it would be ordinary" in page
    assert "What the alarms have in common" in page
    assert "Against the true labels" in page
