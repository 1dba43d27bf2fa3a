"""The mutants of `python -m benchmarks.mutants`: where code is broken, where not, and that tests notice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks import mutants

SOURCE = '''"""Half of it: 1 + 1."""
LIMIT: int = 3
def half(x: int = 2) -> float:
    """1 + 1"""
    if x < LIMIT and x != 5:
        raise ValueError(f"{x} is below 1 + 1")
    return x / 4
'''


def test_each_operator_comparison_and_number_is_a_place_and_no_text_or_annotation() -> None:
    found = mutants.find_mutants("half.py", SOURCE)
    changes = [(each.line, each.change.split(" in ")[0]) for each in found]
    assert changes == [
        (2, "3 -> 6"),
        (3, "2 -> 4"),
        (5, "And -> Or"),
        (5, "Lt -> LtE"),
        (5, "NotEq -> Eq"),
        (5, "5 -> 10"),
        (7, "Div -> Mult"),
        (7, "4 -> 8"),
    ]


def test_tests_that_notice_kill_and_tests_that_do_not_let_live(tmp_path: Path) -> None:
    places = mutants.draw("assess", ["calibration.py"], 999, 0)
    broken = next(
        each for each in places if "Sub -> Add in np.asarray(scores, np.float64) - self.middle" in each.change
    )
    (tmp_path / "test_blind.py").write_text(
        "from soel.assess.calibration import Calibration\ndef test(): assert Calibration(1.0, 0.0)\n"
    )
    (tmp_path / "test_sharp.py").write_text(
        "from soel.assess.calibration import Calibration\n"
        "import numpy as np\n"
        "def test(): assert Calibration(1.0, 2.0).probabilities(np.array([2.0])) == 0.5\n"
    )
    assert mutants.survives(broken, [str(tmp_path / "test_blind.py")])
    assert mutants.survives(replace(broken, number=mutants.UNCHANGED), [str(tmp_path / "test_sharp.py")])
    assert not mutants.survives(broken, [str(tmp_path / "test_sharp.py")])
