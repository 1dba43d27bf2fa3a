"""A command line over a small table, with the fake learner in place of the real one."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.cli.main import main
from soel.tables.rows import read_rows, write_rows
from tests.session.fake_learner import use_fake_learner

HEADER = ("name", "width", "height", "label", "truth")
N_ROWS, N_FAR = 40, 5


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Said]


def write_table(path: Path, n_rows: int = N_ROWS) -> Path:
    """Names that look like formulas, and a feature that is called like a column of the sheet."""
    values = np.random.default_rng(5).normal(size=(n_rows, 3)).round(3)
    values[:N_FAR] += 8
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(HEADER)
        for row, cells in enumerate(values.tolist()):
            csv.writer(file).writerow([f"=n{row}", *cells, int(row < N_FAR)])
    return path


def fill(sheet: Path, words: list[str]) -> None:
    """Fill in the first labels of a sheet."""
    rows = read_rows(sheet)
    for row, word in zip(rows, words, strict=False):
        row["label"] = word
    write_rows(sheet, list(rows[0]), [list(row.values()) for row in rows])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    use_fake_learner(monkeypatch)

    def call(*words: object) -> Said:
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path / "table.csv")


@pytest.fixture
def folder(run: Run, table: Path, tmp_path: Path) -> Path:
    place = tmp_path / "session"
    said = run("init", place, "--data", table, "--id-column", "name", "--label-column", "truth")
    assert said.code == 0, said.err
    return place
