"""A part of `python -m benchmarks messy`, small enough for every day."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.messy_files import make_files

from soel.tables.open import read_table


def test_every_messy_file_is_read_as_it_is_meant(tmp_path: Path) -> None:
    files = make_files(tmp_path)
    assert len(files) >= 25
    for messy in files:
        frame = read_table(messy.path).frame
        assert frame.schema is not None
        assert {name: frame.schema[name].kind for name in messy.kinds} == messy.kinds, messy.path.name


@pytest.mark.parametrize(
    "name", ["decimal_commas", "dollars", "euros", "swiss", "french", "percent", "latin", "packed"]
)
def test_numbers_of_messy_files_are_those_of_the_truth(tmp_path: Path, name: str) -> None:
    messy = next(each for each in make_files(tmp_path) if each.path.name.startswith(name))
    columns = list(read_table(messy.path).frame.columns.values())
    np.testing.assert_allclose(np.column_stack(columns), messy.clean, rtol=1e-12)
