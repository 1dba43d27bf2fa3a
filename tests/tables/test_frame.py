"""Frames of every library read alike, and what cannot be read is said."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from soel.errors import DataError
from soel.tables.column import CellError
from soel.tables.frame import read_frame
from soel.tables.read_options import ReadOptions

LIBRARIES = [pd.DataFrame, pl.DataFrame, pa.table]
frames = pytest.mark.parametrize("make", LIBRARIES, ids=["pandas", "polars", "pyarrow"])
Make = Callable[[dict[str, Any]], Any]


@frames
def test_libraries_give_the_same_frame(make: Make) -> None:
    frame = read_frame(make({"n": [1, None, 3], "c": ["x", None, " y "], "b": [True, False, None]}))
    assert frame.named
    assert frame.n_rows == 3
    assert list(frame.columns) == ["n", "c", "b"]
    np.testing.assert_array_equal(frame.columns["n"], [1, np.nan, 3])
    assert frame.columns["c"].tolist() == ["x", None, "y"]
    np.testing.assert_array_equal(frame.columns["b"], [1, 0, np.nan])


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1, 2], [3, 4]]),
        np.array([[1, 2], [3, 4]], np.float32),
        np.array([[1, 2], [3, 4]], object),
        np.array([["1", "2"], ["3", "4"]]),
        [[1, 2], [3, 4]],
        [[1, "2"], [3, "4"]],
        pd.DataFrame([[1, 2], [3, 4]]),
        pd.DataFrame([[1, 2], [3, 4]]).convert_dtypes(),
    ],
    ids=lambda X: f"{type(X).__name__}",
)
def test_numbers_without_names_are_positions(X: Any) -> None:
    frame = read_frame(X)
    assert not frame.named
    assert {name: column.tolist() for name, column in frame.columns.items()} == {"x0": [1, 3], "x1": [2, 4]}
    assert all(column.dtype == np.float64 for column in frame.columns.values())


@frames
def test_decimals_are_numbers(make: Make) -> None:
    assert read_frame(make({"a": [Decimal("1.5"), Decimal(2)]})).columns["a"].tolist() == [1.5, 2.0]


@frames
def test_a_column_without_any_value_is_left_out(make: Make) -> None:
    frame = read_frame(make({"a": [None, None], "b": [1, 2]}))
    assert list(frame.columns) == ["b"]
    assert frame.schema is not None
    assert frame.schema["a"].seen.oddities == ("empty",)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.Categorical([1, 2, None])}),
        pd.DataFrame({"a": pd.Categorical(["1", "2", None])}),
        pl.DataFrame({"a": ["1", "2", None]}, schema={"a": pl.Categorical}),
        pl.DataFrame({"a": ["1", "2", None]}, schema={"a": pl.Enum(["1", "2"])}),
        pa.table({"a": pa.array(["1", "2", None]).dictionary_encode()}),
    ],
)
def test_categorical_types_stay_categories(X: Any) -> None:
    assert read_frame(X).columns["a"].tolist() == ["1", "2", None]


@frames
def test_named_columns_are_read_as_categories(make: Make) -> None:
    frame = read_frame(make({"a": [1, 2, None], "b": [1, 2, 3]}), ReadOptions(categorical=("a",)))
    assert frame.columns["a"].tolist() == ["1", "2", None]
    assert frame.columns["b"].dtype == np.float64


def test_text_that_spells_numbers_is_numeric_and_blank_is_missing() -> None:
    column = read_frame(pd.DataFrame({"a": ["1", " 2.5", "", "1e3"]})).columns["a"]
    np.testing.assert_array_equal(column, [1, 2.5, np.nan, 1000])


@frames
def test_strings_in_numeric_columns_are_named(make: Make) -> None:
    with pytest.raises(DataError, match=r"'size' is mostly numbers, but 2 cells are not, such as 'huge' in row 1"):
        read_frame(make({"size": ["1", "huge", "2", "tiny", "3", None]}))


@frames
def test_the_usual_words_for_no_value_are_missing(make: Make) -> None:
    column = read_frame(make({"size": ["1", "?", "2", "n.a.", "3", None, "-"]})).columns["size"]
    np.testing.assert_array_equal(column, [1, np.nan, 2, np.nan, 3, np.nan, np.nan])


def test_half_numbers_are_categories() -> None:
    assert read_frame(pd.DataFrame({"a": ["1", "x"]})).columns["a"].tolist() == ["1", "x"]


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("wrap", [np.asarray, lambda x: pd.DataFrame(x, columns=["x0", "x1"])])
def test_infinite_values_are_named(value: float, wrap: Callable[[Any], Any]) -> None:
    with pytest.raises(DataError, match=r"'x1' holds infinity .* in row 2 \(.*1 in all"):
        read_frame(wrap(np.array([[1, 2], [3, 4], [5, value]])))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), "Expected 2D array, got 1D array instead.*Reshape your data"),
        (pd.Series([1, 2]), "Expected 2D array, got 1D array instead"),
        (np.ones((2, 2, 2)), "Expected 2D array, got 3D array instead"),
        (5, "Expected 2D array, got scalar array instead"),
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.empty((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\."),
        (pd.DataFrame(index=[1, 2]), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\)"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (pd.DataFrame({"a": [1j, 2]}), "Complex data not supported"),
        (np.array([[1j], [2]], object), "Complex data not supported"),
        (sparse.csr_array(np.eye(2)), "Sparse matrices are not supported"),
        ([[1], [2, 3]], "rows of equal length"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pd.DataFrame([[1, 2]], columns=["a", 1]), "Some column names are text and some are not"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "share a name"),
        (pa.table([[1], [2]], names=["a", "a"]), "share a name"),
    ],
)
def test_what_is_no_table_is_said(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_frame(X)


@pytest.mark.parametrize("cell", [{"foo": "bar"}, [1], (1, [2]), b"x"])
def test_cells_that_are_neither_number_nor_text_are_a_type_error_too(cell: Any) -> None:
    X = np.empty((2, 1), object)
    X[:, 0] = [1.0, None]
    X[1, 0] = cell
    with pytest.raises(CellError, match=r"argument must be .* string.* number") as caught:
        read_frame(X)
    assert isinstance(caught.value, TypeError)


def test_nested_columns_are_refused() -> None:
    with pytest.raises(CellError, match="'a' holds a dict"):
        read_frame(pl.DataFrame({"a": [{"x": 1}]}))


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "NaT"])}),
        pd.DataFrame({"when": [pd.Timestamp("2020-01-01").date(), None]}),
        pd.DataFrame({"when": ["2020-01-01", "n/a"]}),
        pl.DataFrame({"when": ["2020-01-01", None]}).with_columns(pl.col("when").str.to_date()),
        np.array([["2020-01-01"], ["NaT"]], "datetime64[D]"),
    ],
)
def test_dates_of_every_library_are_times(X: Any) -> None:
    (column,) = read_frame(X).columns.values()
    assert column.tolist() == [dt.datetime(2020, 1, 1), None]


def test_lengths_of_time_are_seconds() -> None:
    frame = read_frame(pl.DataFrame({"took": [dt.timedelta(seconds=90), None], "said": ["1:30", "0:05"]}))
    np.testing.assert_array_equal(frame.columns["took"], [90, np.nan])
    np.testing.assert_array_equal(frame.columns["said"], [90, 5])


def test_what_a_mask_hides_is_missing() -> None:
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, True], [False, False]])
    np.testing.assert_array_equal(read_frame(X).columns["x1"], [np.nan, 4])


def test_reading_does_not_change_the_input() -> None:
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    frame = read_frame(X)
    frame.columns["x0"][:] = 9
    np.testing.assert_array_equal(X, [[1.0, np.nan], [3.0, 4.0]])
