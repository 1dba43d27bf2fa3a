"""What the terminal says before and while a session is prepared behind its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.cli.label_page import TerminalProgress
from soel.session.worker import JobStatus
from soel.web import launch
from tests.cli.conftest import N_ROWS, Run

BAD_OPTIONS = [
    (["--profile", "mine"], "no profile called 'mine'"),
    (["--id-column", "nome"], "table.csv has no column 'nome'. Choose among its columns: name, width"),
    (["--budget", "0"], "at least one label, got 0"),
    (["--budget", str(N_ROWS + 1)], f"{N_ROWS + 1} labels but the data has {N_ROWS} items"),
    (["--store", "somewhere"], "write postgresql://user@host/database"),
    (["--extractor", "mine", "--columns", "path_column=nome"], "no column 'nome'"),
    (["--columns", "every=0"], "got 0"),
    (["--port", "70000"], "from 0 to 65535, got 70000"),
    (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
    (["--trusted-proxy", "proxy"], "needs an address or a network"),
    (["--who", " "], "is not a name for an annotator"),
]
NO_DATA = {
    "letter.docx": (b"Dear all", "'.docx', which says no known format"),
    "empty.csv": (b"", "empty.csv is empty"),
    "noise.csv": (b"\x93\x00,\xff\n\x01" * 50, "noise.csv"),
    "noise.parquet": (b"PAR1 no more", "noise.parquet cannot be read"),
    "noise.npy": (b"\x93NUMPY", "noise.npy cannot be read"),
    "noise.mp4": (b"no clip", "noise.mp4"),
    "one.png": (b"no picture", "it is not a picture that can be read"),
}


@pytest.fixture(autouse=True)
def _no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that would open is an error."""

    def serve(*_: object) -> None:
        raise AssertionError("the page was opened")

    monkeypatch.setattr(launch, "_open", serve)
    monkeypatch.setattr(launch, "create_preparing_app", serve)


@pytest.mark.parametrize(("words", "message"), BAD_OPTIONS)
def test_a_bad_option_is_refused_before_the_page_opens(run: Run, table: Path, words: list[str], message: str) -> None:
    said = run("label", table, "--no-browser", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert list(table.parent.iterdir()) == [table], "nothing is left behind"


@pytest.mark.parametrize("name", NO_DATA)
def test_a_file_that_is_no_data_is_refused_before_the_page_opens(run: Run, tmp_path: Path, name: str) -> None:
    content, message = NO_DATA[name]
    (tmp_path / name).write_bytes(content)
    said = run("label", tmp_path / name, "--no-browser", "--budget", 1)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_options_that_come_too_late_are_named(run: Run, table: Path, folder: Path) -> None:
    said = run("label", folder, "--no-browser", "--budget", 5, "--id-column", "nome")
    assert "the page was opened" in said.err, "a session that is there is served all the same"
    assert "session is there already and goes on as it began; --id-column, --budget would count" in said.err


def test_a_failure_is_said_once_and_again_when_it_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    tell, failed = TerminalProgress(), JobStatus("create", False, error="The disk is full.")
    for now in (JobStatus("extract", True, 1, 2), failed, failed):
        tell(now)
    assert capsys.readouterr().err == "The session could not be prepared: The disk is full.\n"
    for again in (JobStatus("create", True), failed, None):
        tell(again)
    assert capsys.readouterr().err == "The session could not be prepared: The disk is full.\n"
