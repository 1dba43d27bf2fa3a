"""The script that draws the house."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import rooms


def test_rooms_of_modules() -> None:
    assert rooms.room_of("soel.tables.reading.kinds") == "tables"
    assert rooms.room_of("soel.types") == "types"
    assert rooms.room_of("soel") == "soel"
    assert rooms.room_of("soel_paper.cells") == "soel_paper"


def test_a_small_house_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in {
        "src/soelhouse/__init__.py": "",
        "src/soelhouse/top/__init__.py": "",
        "src/soelhouse/top/a.py": "from soelhouse.low import b\nimport soelhouse.low.c\n",
        "src/soelhouse/low/__init__.py": "",
        "src/soelhouse/low/b.py": "from soelhouse.low import c\n",
        "src/soelhouse/low/c.py": "one = 1\n\ntwo = 2\n",
        "tests/low/test_b.py": "x = 1\n" * 5,
        "tests/conftest.py": "y = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(rooms, "PACKAGES", ("soelhouse", "another"))
    monkeypatch.setattr(rooms, "room_of", lambda module: [*module.split("."), "soelhouse"][1])
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    lines, tests = rooms.count_lines(tmp_path)
    assert dict(lines) == {"soelhouse": 0, "top": 2, "low": 4}
    assert dict(tests) == {"low": 5, "soel": 1}
    assert dict(rooms.count_imports(tmp_path)) == {("top", "low"): 2}
    rooms.main(tmp_path)
    assert "3 rooms, 1 pairs of rooms, 2 imports between them" in capsys.readouterr().out
