"""The matrix: worked examples, and the laws of encoding."""

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from soel.errors import ConfigError, DataError, ModelFileError, SchemaError
from soel.tables.codes import FAR
from soel.tables.encoder import Encoder
from soel.tables.frame import read_frame
from soel.tables.kinds.kind import MAX_CATEGORIES

POOL = pd.DataFrame(
    {
        "size": [1.0, 2.0, 3.0, 4.0, np.nan],
        "weight": [10.0, 20.0, 30.0, 40.0, 50.0],
        "colour": ["red", "blue", None, "red", "red"],
        "site": ["here"] * 5,
        "year": [2020] * 5,
    }
)


def fit(X: Any, scaling: str = "standard") -> Encoder:
    return Encoder.fit(read_frame(X), scaling)


def encode(encoder: Encoder, X: Any) -> np.ndarray:
    return encoder.encode(read_frame(X, schema=encoder.how))


def test_raw_values_stay_as_they_are() -> None:
    X = np.array([[1, 2], [3, 2]])
    matrix = encode(fit(X, "none"), X)
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, X)


def test_scaling_worked_by_hand() -> None:
    encoder = fit(POOL[["weight"]])  # mean 30, deviation sqrt(200)
    np.testing.assert_allclose(encode(encoder, POOL[["weight"]])[:, 0], np.arange(-2, 3) / 2**0.5, rtol=1e-6)
    assert encode(encoder, pd.DataFrame({"weight": [1e9]})) == FAR
    assert encode(encoder, pd.DataFrame({"weight": [-1e9]})) == -FAR


def test_constant_columns_are_dropped_when_scaled_and_kept_when_raw() -> None:
    assert fit(POOL).feature_names == (
        "size",
        "size is missing",
        "weight",
        "colour = blue",
        "colour = red",
        "colour is missing",
    )
    assert fit(POOL, "none").feature_names[-2:] == ("site = here", "year")


@pytest.mark.parametrize("columns", [["year"], ["site"], ["site", "year"]])
def test_only_constant_columns_are_zeros(columns: list[str]) -> None:
    encoder = fit(POOL[columns])
    assert encoder.n_features == len(columns)
    np.testing.assert_array_equal(encode(encoder, POOL[columns]), np.zeros((5, len(columns))))


def test_a_constant_column_with_gaps_keeps_the_gaps() -> None:
    X = pd.DataFrame({"a": [7, np.nan, 7], "b": [1, 2, 3]})
    encoder = fit(X)
    assert encoder.feature_names == ("a is missing", "b")
    assert encode(encoder, X)[:, 0].tolist() == [0, 1, 0]


def test_a_missing_number_is_the_median_and_marked_if_the_pool_had_some() -> None:
    encoder = fit(POOL[["size", "weight"]], "none")
    matrix = encode(encoder, pd.DataFrame({"size": [np.nan, 9], "weight": [np.nan, 8]}))
    assert encoder.feature_names == ("size", "size is missing", "weight")
    np.testing.assert_array_equal(matrix, [[2.5, 1, 30], [9, 0, 8]])


def test_a_column_without_values_is_left_out_and_an_array_of_them_is_refused() -> None:
    encoder = fit(pd.DataFrame({"a": [np.nan, np.nan], "b": [1, 2]}))
    assert encoder.column_names == ("b",)
    with pytest.raises(DataError, match="'x0' has no value in any row"):
        fit(np.full((2, 1), np.nan))
    with pytest.raises(DataError, match=r"0 feature\(s\)"):
        fit(pd.DataFrame({"a": [np.nan, np.nan]}))


def test_categories_missing_and_unseen() -> None:
    encoder = fit(POOL[["colour"]])
    matrix = encode(encoder, pd.DataFrame({"colour": ["blue", "red", None, "green"]}))
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_a_missing_category_that_the_pool_had_not_is_zeros() -> None:
    encoder = fit(pd.DataFrame({"c": ["a", "b"]}))
    np.testing.assert_array_equal(encode(encoder, pd.DataFrame({"c": [None, "a"]})), [[0, 0], [1, 0]])


def test_many_categories_are_told_by_their_frequency() -> None:
    names = [f"c{number:02d}" for number in range(MAX_CATEGORIES + 1)]
    pool = pd.DataFrame({"c": [*names, *names, *names[:9], None]})
    encoder = fit(pool, "none")
    assert encoder.feature_names == ("c (frequency)", "c is missing")
    rows = encode(encoder, pd.DataFrame({"c": ["c00", "c20", "never seen", None]}))
    shares = np.log([3 / 76, 2 / 76, 1 / 76, 2 / 76])  # the median stands for a missing one
    np.testing.assert_allclose(rows[:, 0], shares, rtol=1e-6)
    assert rows[:, 1].tolist() == [0, 0, 0, 1]


def test_exactly_the_limit_of_categories_has_a_feature_each() -> None:
    cells = [f"c{number:02d}" for number in range(MAX_CATEGORIES)]
    encoder = fit(pd.DataFrame({"c": cells}))
    assert encoder.feature_names == tuple(f"c = {cell}" for cell in cells)


def test_categories_that_look_like_numbers_in_new_rows() -> None:
    encoder = fit(pd.DataFrame({"c": ["1", "2", "x", "y"]}))
    for new in (
        pd.DataFrame({"c": ["1", "2"]}),
        pd.DataFrame({"c": [1, 2]}),
        pl.DataFrame({"c": [1.0, 2.0]}),
    ):
        np.testing.assert_array_equal(encode(encoder, new)[:, :2], np.eye(2))


def test_text_where_the_pool_had_numbers_is_refused() -> None:
    with pytest.raises(SchemaError, match="'weight' held numbers in the pool and holds text such as 'heavy'"):
        encode(fit(POOL[["weight"]]), pd.DataFrame({"weight": ["heavy", None]}))


def test_named_columns_may_come_in_any_order() -> None:
    encoder = fit(POOL)
    np.testing.assert_array_equal(encode(encoder, POOL[POOL.columns[::-1]]), encode(encoder, POOL))


@pytest.mark.parametrize("pool_has_names", [True, False])
@pytest.mark.parametrize("new_has_names", [True, False])
def test_columns_go_by_position_where_one_side_has_no_names(pool_has_names: bool, new_has_names: bool) -> None:
    named = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 5.0, 4.0]})
    pool, new = (named if has_names else named.to_numpy() for has_names in (pool_has_names, new_has_names))
    assert fit(pool).goes_by_position(read_frame(new)) == (pool_has_names != new_has_names)


def test_other_columns_are_named() -> None:
    encoder = fit(POOL)
    with pytest.raises(SchemaError, match="unseen at fit time:\n- extra\nGive"):
        encode(encoder, POOL.assign(extra=1))
    with pytest.raises(SchemaError, match="now missing:\n- site\n- size\nGive"):
        encode(encoder, POOL.drop(columns=["size", "site"]))


def test_arrays_must_have_the_same_width() -> None:
    with pytest.raises(SchemaError, match="X has 1 features, but SOEL is expecting 4 features as input"):
        encode(fit(np.eye(4)), np.ones((2, 1)))


def test_an_array_is_taken_by_position() -> None:
    X = POOL[["weight", "year"]]
    np.testing.assert_array_equal(encode(fit(X), X.to_numpy()), encode(fit(X), X))


def test_an_encoder_knows_its_columns() -> None:
    assert fit(POOL).column_names == tuple(POOL.columns)


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_json_round_trip(scaling: str) -> None:
    encoder = fit(POOL, scaling)
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
    assert again == encoder


@pytest.mark.parametrize("damage", [{"columns": 5}, {"columns": [{}]}, {"columns": [{"kind": "x"}]}, {}])
def test_a_damaged_description_is_refused(damage: dict[str, Any]) -> None:
    values = {**fit(POOL).to_json(), **damage} if damage else {}
    with pytest.raises(ModelFileError, match="description of the columns cannot be read"):
        Encoder.from_json(values)


def test_a_median_that_is_no_number_is_refused() -> None:
    values = fit(POOL).to_json()
    values["columns"][0]["median"] = "many"
    with pytest.raises(ModelFileError):
        Encoder.from_json(values)


def test_unknown_scaling() -> None:
    with pytest.raises(ConfigError, match=r"no scaling called 'log'\. Choose one of: none, standard"):
        fit(POOL, "log")


finite = st.floats(-1e38, 1e38) | st.just(0.0)
matrices = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite)


@given(matrices)
def test_scaled_values_are_finite_and_bounded(X: np.ndarray) -> None:
    matrix = encode(fit(X), X)
    assert matrix.shape[1] >= 1
    assert (np.abs(matrix) <= FAR).all()


@given(matrices, st.randoms())
def test_rows_are_encoded_one_by_one(X: np.ndarray, random: Any) -> None:
    encoder, order = fit(X), random.sample(range(len(X)), len(X))
    np.testing.assert_array_equal(encode(encoder, X[order]), encode(encoder, X)[order])
    np.testing.assert_array_equal(encode(encoder, X[:1]), encode(encoder, X)[:1])
    assert fit(X[order]).feature_names == encoder.feature_names


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("n_days", [10, 60, 400])
def test_the_same_rows_weeks_later_have_the_same_features(in_order: bool, n_days: int) -> None:
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.uniform(0, 24 * n_days, 500).round(2), unit="h")
    pool = pd.DataFrame({"when": when.sort_values() if in_order else when, "x": rng.normal(size=500)})
    encoder = fit(pool)
    later = encode(encoder, pool.assign(when=pool["when"] + pd.Timedelta(weeks=6)))
    circles = [at for at, name in enumerate(encoder.feature_names) if "month" not in name]
    np.testing.assert_allclose(later[:, circles], encode(encoder, pool)[:, circles], atol=1e-5)
    ends = encode(encoder, pool)
    months_later = encode(encoder, pool.assign(when=pool["when"] + pd.Timedelta(days=90)))
    assert (np.abs(months_later) <= np.abs(ends).max(axis=0) + 0.1).all()


def test_days_within_a_fortnight_tell_nothing_but_whether_they_are_missing() -> None:
    days = pd.to_datetime(["2024-01-03", "2024-01-01", "NaT", "2024-01-02"])
    encoder = fit(pd.DataFrame({"day": days, "x": [1, 2, 3, 4]}))
    assert encoder.feature_names == ("day is missing", "x")
    assert fit(pd.DataFrame({"day": days[:2]})).n_features == 1
