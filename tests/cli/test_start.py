from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import soel
from soel.cli.main import build_parser
from soel.report.progress import Bar

VERBS = (
    *("init", "ask", "tell", "undo", "fit", "score", "report", "status", "demo"),
    *("export", "import", "decide", "replay"),
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(soel.__file__).parents[1])}


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=60
    )


def test_help_is_quick_and_names_every_verb() -> None:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        shown = python("-m", "soel.cli.main", "--help")
        times.append(time.perf_counter() - started)
    assert shown.returncode == 0
    assert min(times) < 0.4
    assert all(f"\n    {verb} " in shown.stdout for verb in VERBS)


def test_reading_the_arguments_imports_nothing_heavy() -> None:
    code = (
        "import sys, soel.cli.main as m; m.build_parser();"
        "print([n for n in ('torch', 'numpy', 'sqlalchemy', 'scipy') if n in sys.modules])"
    )
    assert python("-c", code).stdout.strip() == "[]"


def test_telling_does_not_import_torch() -> None:
    code = "import sys, soel.api.workspace, soel.cli.sheet; print('torch' in sys.modules)"
    assert python("-c", code).stdout.strip() == "False"


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


def test_the_bar_is_silent_for_quick_work_and_for_pipes() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for bar in (Bar("Training", terminal, patience=60), Bar("Training", pipe, patience=0)):
        bar(1, 2)
        bar.close()
    assert terminal.getvalue() == pipe.getvalue() == ""
