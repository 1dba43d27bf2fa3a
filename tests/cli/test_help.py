"""Help: verbs in groups, and what is said of verbs and options that do not exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from soel.cli.main import VERBS, build_parser
from tests.cli.conftest import Run


def test_every_verb_is_in_one_group(run: Run) -> None:
    grouped = [name for names in VERBS.values() for name in names]
    assert sorted(grouped) == sorted(build_parser().get_default("verbs"))
    said = run("help")
    assert said.code == 0
    assert all(f"\n{group}:\n" in said.out for group in VERBS)
    assert all(f"\n    {name} " in said.out for name in grouped)


def test_help_on_one_verb(run: Run) -> None:
    said = run("help", "score")
    assert said.code == 0
    assert said.out.startswith("usage: soel score ")
    assert "--threshold" in said.out


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "soel", "help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "every day:" in done.stdout


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("train", "`soel fit DIR`"),
        ("predict", "`soel score DIR --data FILE`"),
        ("lable", "Did you mean label?"),
        ("stauts", "Did you mean status?"),
    ],
)
def test_a_verb_that_does_not_exist(run: Run, word: str, hint: str) -> None:
    said = run(word, "somewhere")
    assert said.code == 2
    assert f"there is no verb {word!r}. {hint}" in said.err


def test_an_option_that_does_not_exist(run: Run, tmp_path: Path) -> None:
    said = run("score", tmp_path, "--treshold", "share=0.1")
    assert said.code == 2
    assert "--treshold share=0.1. Did you mean --threshold? See `soel help score`." in said.err
    said = run("score", tmp_path, "--quux")
    assert "Did you mean" not in said.err


@pytest.mark.parametrize("flag", ["--json", "--debug"])
def test_what_every_verb_takes_may_stand_before_the_verb(run: Run, tmp_path: Path, flag: str) -> None:
    assert run(flag, "status", tmp_path) == run("status", tmp_path, flag)
