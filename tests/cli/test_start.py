from __future__ import annotations

import io
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import soel
from soel.cli.main import build_parser
from soel.report.progress import Bar
from soel.session import SessionFolder, SessionOptions, create, lay_out

VERBS = sorted(build_parser().get_default("verbs"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(soel.__file__).parents[1])}


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=120
    )


def cpu_seconds() -> float:
    """What all processes that were started here and have ended took of the processor."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_help_is_quick_and_names_every_verb() -> None:
    times = []
    for _ in range(3):
        started = cpu_seconds()
        shown = python("-m", "soel.cli.main", "--help")
        times.append(cpu_seconds() - started)
    assert shown.returncode == 0
    assert min(times) < 0.4
    assert all(f"\n    {verb} " in shown.stdout for verb in VERBS)


def test_reading_the_arguments_imports_nothing_heavy() -> None:
    code = (
        "import sys, soel.cli.main as m; m.build_parser();"
        "print([n for n in ('torch', 'numpy', 'sqlalchemy', 'scipy') if n in sys.modules])"
    )
    assert python("-c", code).stdout.strip() == "[]"


def test_the_status_of_a_million_items_is_quick_and_needs_no_torch(tmp_path: Path) -> None:
    n_items = 1_000_000
    np.save(tmp_path / "x.npy", np.zeros((4, 1), np.float32))
    create.create_session(tmp_path / "few", tmp_path / "x.npy", SessionOptions(budget=2)).close()
    config = replace(SessionFolder(tmp_path / "few").config, n_items=n_items)
    lay_out(tmp_path / "many", config, [f"item-{row}" for row in range(n_items)], np.zeros((n_items, 1), np.float32))
    shutil.copy(tmp_path / "few" / "events.sqlite", tmp_path / "many" / "events.sqlite")
    times = []
    for _ in range(3):
        started = cpu_seconds()
        shown = python("-m", "soel.cli.main", "status", str(tmp_path / "many"))
        times.append(cpu_seconds() - started)
    assert "1,000,000 items" in shown.stdout
    assert min(times) < 1
    code = "import sys, soel.cli.main as m; m.main(['status', sys.argv[1]]); print('torch' in sys.modules)"
    assert python("-c", code, str(tmp_path / "many")).stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_json_and_debug(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([verb, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert "--json" in shown
    assert "--debug" in shown


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--version"])
    assert capsys.readouterr().out == f"soel {soel.__version__}\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_draws_on_a_terminal_after_a_while() -> None:
    stream = Terminal()
    bar = Bar("Training", stream, patience=0)
    bar(1, 2)
    assert stream.getvalue() == "\rTraining [" + "#" * 15 + "." * 15 + "] 1/2"
    bar.close()
    assert stream.getvalue().endswith("\r\033[K")
