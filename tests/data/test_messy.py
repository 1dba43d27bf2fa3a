"""A part of `python -m benchmarks messy` and `python -m benchmarks fuzz`, small enough for every day."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.fuzz import NAMES, run
from benchmarks.messy_files import make_files

from soel.data.tables import read_table

N_FUZZ = 20


def test_every_messy_file_is_read_as_it_is_meant(tmp_path: Path) -> None:
    files = make_files(tmp_path)
    assert len(files) >= 25
    for messy in files:
        frame = read_table(messy.path).frame
        assert frame.reading is not None
        assert {name: frame.reading[name].kind for name in messy.kinds} == messy.kinds, messy.path.name


@pytest.mark.parametrize(
    "name", ["decimal_commas", "dollars", "euros", "swiss", "french", "percent", "latin", "packed"]
)
def test_numbers_of_messy_files_are_those_of_the_truth(tmp_path: Path, name: str) -> None:
    messy = next(each for each in make_files(tmp_path) if each.path.name.startswith(name))
    columns = list(read_table(messy.path).frame.columns.values())
    np.testing.assert_allclose(np.column_stack(columns), messy.clean, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_mutated_files_are_read_or_refused(name: str) -> None:
    found = run(name, 1_000_000, N_FUZZ)
    assert found["defects"] == []
    assert found["read"] + found["refused"] == N_FUZZ


@pytest.mark.parametrize(("name", "seed"), [("t.csv", 171), ("t.jsonl", 43), ("t.parquet", 580), ("t.sqlite", 1362)])
def test_defects_that_were_found_stay_mended(name: str, seed: int) -> None:
    assert run(name, seed, 1)["defects"] == []
