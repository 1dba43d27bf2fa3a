"""The demo's folder is made anew each time, and nobody else's is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.cli.demo import SESSION, _clear
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
