from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow.parquet
import pytest

from soel.errors import ConfigError
from soel.images.image_items import MediaItem
from soel.scoring.score import Scores, rank
from soel.scoring.score_table import COLUMNS, ScoreTable, labels_by_item, name_pictures, name_rows
from soel.session import Answer, SessionState, fold
from soel.tables.rows import read_rows
from soel.types import Verdict

IDS = ("p1", "p2", "p3")
SCORES = Scores(
    IDS,
    scores=np.array([0.5, 2.0, 1.0]),
    ranks=np.array([3, 1, 2]),
    alarms=np.array([False, True, True]),
    probabilities=np.array([0.1, 0.9, 0.4]),
    p_values=np.array([1.0, 0.01, 0.2]),
    unsure=np.array([False, True, True]),
)


@pytest.fixture
def state() -> SessionState:
    return fold(
        [Answer("p2", Verdict.NORMAL, because=("heat", "load")).event("Ann"), Answer("p1", Verdict.SKIP).event("Ann")],
        budget=5,
    )


@pytest.fixture
def table(state: SessionState) -> ScoreTable:
    return ScoreTable.of(SCORES, name_rows(IDS, "pump"), labels_by_item(state))


def test_rows_are_sorted_by_rank_and_carry_what_was_said(table: ScoreTable) -> None:
    assert list(table.columns) == ["pump", *COLUMNS]
    told = [tuple(row.values()) for row in table.rows()]
    assert told == [
        ("p2", 1, 2.0, 0.9, 0.01, True, False, "normal", "Ann", "heat;load"),
        ("p3", 2, 1.0, 0.4, 0.2, True, True, None, None, None),
        ("p1", 3, 0.5, 0.1, 1.0, False, False, None, None, None),
    ]
    assert table.summary(Path("x.csv"))["n_alarms"] == 2


def test_every_form_holds_the_same(table: ScoreTable, tmp_path: Path) -> None:
    for suffix in (".csv", ".parquet", ".json", ".xlsx"):
        table.write(tmp_path / f"scores{suffix}")
    assert json.loads((tmp_path / "scores.json").read_text()) == table.rows()
    assert pyarrow.parquet.read_table(tmp_path / "scores.parquet").to_pylist() == table.rows()
    (header, *rows) = openpyxl.load_workbook(tmp_path / "scores.xlsx")["scores"].iter_rows(values_only=True)
    assert [dict(zip(header, row, strict=True)) for row in rows] == table.rows()
    written = [{name: "" if value is None else str(value) for name, value in row.items()} for row in table.rows()]
    assert read_rows(tmp_path / "scores.csv") == written
    with pytest.raises(ConfigError, match=r"got 'scores\.txt'"):
        table.write(tmp_path / "scores.txt")


def test_no_text_in_a_sheet_is_a_formula_or_too_long(tmp_path: Path) -> None:
    names = {"pump": ["=1+1", "x" * 40_000, "a\x07b"]}
    ScoreTable.of(SCORES, names, {}).write(tmp_path / "s.xlsx")
    cells = [row[0] for row in openpyxl.load_workbook(tmp_path / "s.xlsx")["scores"].iter_rows(min_row=2)]
    assert [(cell.value, cell.data_type) for cell in cells] == [("x" * 32_767, "s"), ("a\ufffdb", "s"), ("=1+1", "s")]


def test_the_package_that_writes_excel_is_named(
    table: ScoreTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ConfigError, match=r"needs the package openpyxl.*Install soel\[excel\]"):
        table.write(tmp_path / "s.xlsx")


def test_a_column_of_the_data_does_not_hide_one_of_the_scores() -> None:
    table = ScoreTable.of(SCORES, name_rows(IDS, "rank"), {})
    assert (table.columns["data rank"], table.columns["rank"]) == (["p2", "p3", "p1"], [1, 2, 3])


def test_rows_without_an_id_column_are_numbered_as_people_count() -> None:
    assert {name: list(values) for name, values in name_rows(IDS, None).items()} == {"row": [1, 2, 3], "id": list(IDS)}


@pytest.mark.parametrize(
    ("item", "names"),
    [
        (MediaItem("a-0", "plain/x.png", "plain"), {"file": ["x.png"], "folder": ["plain"], "id": ["a-0"]}),
        (MediaItem("a-0", "x.png"), {"file": ["x.png"], "id": ["a-0"]}),
        (MediaItem("a-0", "test 12"), {"name": ["test 12"], "id": ["a-0"]}),
        (
            MediaItem("a-0", "b.mp4 at 0.40 s", clip="b.mp4", frame=4, time=0.4),
            {"clip": ["b.mp4"], "second": [0.4], "id": ["a-0"]},
        ),
    ],
)
def test_pictures_have_the_names_that_people_gave_them(item: MediaItem, names: dict[str, list[object]]) -> None:
    assert name_pictures([item]) == names


def test_scores_are_ranked_from_the_most_anomalous_and_equal_ones_in_row_order() -> None:
    assert rank(np.array([1.0, 3.0, 1.0, 2.0])).tolist() == [3, 1, 4, 2]
