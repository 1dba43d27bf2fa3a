"""The mutants of `python -m benchmarks.mutants`: where code is broken, where not, and that tests notice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

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


def test_a_mutant_differs_from_the_module_in_its_one_place() -> None:
    whole = mutants.write_mutant(SOURCE, mutants.UNCHANGED).splitlines()
    for each in mutants.find_mutants("half.py", SOURCE):
        broken = mutants.write_mutant(SOURCE, each.number).splitlines()
        assert len(broken) == len(whole)
        assert sum(a != b for a, b in zip(broken, whole, strict=True)) == 1
    assert mutants.write_mutant(SOURCE, 6).endswith("return x * 4")


def test_a_seed_draws_the_same_mutants_again() -> None:
    first = mutants.draw("assess", [], 10, 1)
    assert first == mutants.draw("assess", [], 10, 1) != mutants.draw("assess", [], 10, 2)
    assert len(set(first)) == 10
    assert {each.path for each in mutants.draw("assess", ["metrics.py"], 3, 0)} == {"soel/assess/metrics.py"}


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


def test_tests_that_fail_anyway_judge_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "survives", lambda mutant, tests: False)
    with pytest.raises(RuntimeError, match="tests/assess fails on the code as it is"):
        mutants.main(["assess"])


def test_verdicts_are_kept_and_survivors_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[mutants.Mutant] = []

    def fake(mutant: mutants.Mutant, tests: list[str]) -> bool:
        assert tests == ["tests/assess"]
        if mutant.number == mutants.UNCHANGED:
            return True
        asked.append(mutant)
        return len(asked) == 2

    monkeypatch.setattr(mutants, "survives", fake)
    words = ["assess", "--mutants", "4", "--keep", str(tmp_path / "kept")]
    assert mutants.main([*words, "--seconds", "-1"]) == 1, "none had a turn"
    assert mutants.main(words) == 1
    assert mutants.main(words) == 1, "one has survived"
    assert len(asked) == 4, "and none was tried twice"
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "assess: 3 of 4 killed, 0 to come."
    assert said[-2].startswith(f"survived: {asked[1].path}:{asked[1].line}: ")
    assert [json.loads(line)[1] for line in (tmp_path / "kept").read_text().splitlines()] == [False, True, False, False]
