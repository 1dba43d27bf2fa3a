"""Labels in the codes people write."""

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from soel.errors import LabelError
from soel.validation import check_labels, is_missing

SPELLINGS: dict[int, list[Any]] = {
    1: [1, 1.0, True, "anomaly", " Anomaly ", "ANOMALY", "1", np.int8(1), Decimal(1)],
    0: [0, 0.0, False, "normal", "Normal", "0", np.float32(0)],
    -1: [-1, -1.0, None, float("nan"), "unlabelled", "", "  ", "-1", "nan", pd.NA, np.float64("nan")],
}


@example([(1, np.int8(1)), (1, Decimal(1))])
@given(st.lists(st.sampled_from([(code, cell) for code, cells in SPELLINGS.items() for cell in cells])))
def test_every_spelling_means_its_code_in_any_mixture(pairs: list[tuple[int, Any]]) -> None:
    codes = [0, *(code for code, _ in pairs)]  # a normal item rules out the turned-round codes
    labels = check_labels([0, *(cell for _, cell in pairs)], len(codes))
    assert labels.dtype == np.int8
    assert labels.tolist() == codes


@pytest.mark.parametrize(
    "y",
    [
        np.array([1, -1, 0]),
        np.array([1.0, np.nan, 0.0]),
        np.array([[1], [-1], [0]]),
        np.array(["1", "-1", "0"]),
        pd.Series([1, None, 0], dtype="Int64", index=[7, 8, 9]),
        pd.Series(["anomaly", None, "normal"], dtype="category"),
        pd.DataFrame({"y": [1, -1, 0]}),
        pl.Series([1, None, 0]),
        pl.Series([True, None, False]),
        pl.Series(["anomaly", None, "normal"]),
        pa.chunked_array([[1, None], [0]]),
        pa.array([1, None, 0]),
    ],
    ids=lambda y: type(y).__module__.partition(".")[0],
)
def test_arrays_and_series_of_all_libraries_are_read(y: Any) -> None:
    assert check_labels(y, 3).tolist() == [1, -1, 0]


def test_no_labels_at_all() -> None:
    assert check_labels(None, 4).tolist() == [-1] * 4


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 0], "y holds 2 labels for 3 rows"),
        (np.zeros((3, 2)), re.escape("shape (3, 2)")),
        (5, re.escape("shape ()")),
        ([2, 0, 1], "1 labels in y are 2"),
        (np.array([0.5, 0.5, 0]), "2 labels in y are 0.5"),
        (["outlier", "normal", "inlier"], "2 labels in y are 'inlier', 'outlier'"),
        ([[1], 0, {}], "not labels"),
        (np.array([1j, 0, 0]), "Complex data not supported"),
    ],
)
def test_what_is_no_label_is_named_with_the_codes(y: Any, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        check_labels(y, 3)


def test_unknown_labels_are_listed_but_not_all_of_them() -> None:
    with pytest.raises(LabelError, match=r"100 labels in y are 2.0, 3.0, 4.0, 5.0, 6.0, ... and more. Use 1 or"):
        check_labels(np.arange(2, 102), 100)


@pytest.mark.parametrize("y", [[1, 1, -1], [1.0, 1.0, -1.0], ["1", "1", "-1"], np.array([1, 1, -1])])
def test_outlier_codes_of_scikit_learn_are_recognised(y: Any) -> None:
    with pytest.raises(LabelError, match=r"scikit-learn's outlier codes.*np\.where\(y == -1, 1, 0\)"):
        check_labels(y, 3)


@pytest.mark.parametrize("y", [[1, -1, -1], [1, 1, 0, -1], ["anomaly", 1, -1], [1, 1, None], [1, 1], [1, 1, -1, -1]])
def test_few_anomalies_words_and_missing_labels_are_not_mistaken_for_them(y: list[Any]) -> None:
    assert (check_labels(y, len(y)) == 1).sum() == sum(cell in (1, "anomaly") for cell in y)


@pytest.mark.parametrize("cell", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")])
def test_markers_of_missing_values_are_missing(cell: Any) -> None:
    assert is_missing(cell)


@pytest.mark.parametrize("cell", [0, "", "nan", False, np.inf, np.datetime64("2020-01-01")])
def test_values_are_not_missing(cell: Any) -> None:
    assert not is_missing(cell)
