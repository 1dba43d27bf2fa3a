"""A part of `python -m benchmarks fuzz`, small enough for every day, and what it has found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.fuzz import NAMES, command, run
from benchmarks.fuzz.child import Attack, judge
from benchmarks.fuzz.mutation import mutate
from benchmarks.fuzz.readers import reader_names
from benchmarks.fuzz.target import one_file

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


def test_a_fuzz_in_parts_goes_on_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, int, int]] = []

    def fake_run(*batch: Any) -> dict[str, Any]:
        asked.append(batch)
        defects = ["t.tsv seed 300: broken"] if batch[:2] == ("t.tsv", 250) else []
        return {"read": 10, "refused": batch[2] - 10 - len(defects), "defects": defects, "slowest": 0.5}

    monkeypatch.setattr(command, "run", fake_run)
    kept, names = tmp_path / "kept.jsonl", ("t.csv", "t.tsv")
    assert command.go_on(kept, -1, 400, 0, names) == 1, "no time, nothing done"
    assert asked == []
    assert command.go_on(kept, 100, 400, 0, ("t.csv",)) == 0
    assert asked == [("t.csv", 0, 250), ("t.csv", 250, 150)]
    assert command.go_on(kept, 100, 400, 0, names) == 1, "there is a defect"
    assert asked[2:] == [("t.tsv", 0, 250), ("t.tsv", 250, 150)], "what is kept is not read again"
    said = capsys.readouterr().out
    assert "t.tsv                 400     20      379        1    0.50s" in said
    assert "t.tsv seed 300: broken" in said
    assert said.endswith("4 of 4 batches are read.\n")


def test_the_same_seeds_make_the_same_files(tmp_path: Path) -> None:
    seen: list[list[bytes]] = []

    def read(path: Path) -> None:
        seen[-1].append(path.read_bytes())

    for _ in range(2):
        seen.append([])
        (tmp_path / "x.bin").write_bytes(bytes(range(200)))
        attack = Attack("x.bin", one_file(tmp_path / "x.bin", read))
        attack.mutated(7, 10)
        attack.made(7, 10)
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 15, "and they differ from one another"
    assert mutate(b"abc" * 20, 5) == mutate(b"abc" * 20, 5)
