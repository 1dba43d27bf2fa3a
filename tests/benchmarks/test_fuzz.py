"""A part of `python -m benchmarks fuzz`, small enough for every day, and what it has found."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.fuzz import NAMES, run
from benchmarks.fuzz.child import judge
from benchmarks.fuzz.readers import reader_names

from soel.errors import DataError

N_FILES = 20


@pytest.mark.parametrize("name", NAMES)
def test_spoilt_files_are_read_or_refused(name: str) -> None:
    found = run(name, 1_000_000, N_FILES)
    assert found["defects"] == []
    assert found["read"] + found["refused"] == N_FILES


FOUND = [
    ("t.csv", 171),
    ("t.jsonl", 43),
    ("t.parquet", 580),
    ("t.sqlite", 1362),
    ("c.mp4", 1_000_003),
    ("idx3-ubyte.gz", 1_000_000),
    ("idx3-ubyte.gz", 282),
    ("labels.csv", 1_000_002),
    ("p.npz", 100_019),
    ("sheet", 7),
    ("sheet", 100_007),
    ("model", 367),
]


@pytest.mark.parametrize(("name", "seed"), FOUND)
def test_defects_that_were_found_stay_mended(name: str, seed: int) -> None:
    assert run(name, seed, 1)["defects"] == []


def test_every_reader_is_attacked() -> None:
    assert reader_names() == NAMES


def _raising(error: Exception) -> object:
    def read(_path: Path) -> object:
        raise error

    return read


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DataError("x.csv is damaged. Restore it."), "refused"),
        (DataError("it is damaged"), "defect: DataError does not name the file"),
        (DataError("x.csv has \x1b[2J in it"), "defect: a message that a terminal obeys"),
        (DataError("x.csv\nis damaged"), "defect: a message that a terminal obeys"),
        (KeyError("a"), "defect: KeyError"),
    ],
)
def test_the_judge_knows_a_refusal_from_a_defect(error: Exception, said: str) -> None:
    assert judge(_raising(error), Path("x.csv"), ("x.csv",)).startswith(said)


def test_a_reader_that_dies_is_a_defect() -> None:
    found = run("no such reader", 0, 1)
    assert len(found["defects"]) == 1
    assert "the reader died" in found["defects"][0]
