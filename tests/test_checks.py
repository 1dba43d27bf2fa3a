"""Labels in the codes people write; numbers, names, texts and ids."""

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from soel.checks import (
    check_count,
    check_distinct,
    check_id,
    check_labels,
    check_share,
    check_text,
    clean_name,
    is_missing,
)
from soel.errors import ConfigError, DataError, LabelError

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


@pytest.mark.parametrize("name", ["Ann", "Ben de Vries", "李雷", "Łukasz", "राम", "ann@example.org", "x" * 100])
def test_a_name_that_people_have_is_kept_as_it_is(name: str) -> None:
    assert clean_name(name) == name


def test_a_name_has_one_way_to_be_written() -> None:
    assert clean_name("  Jose\u0301\u00a0 Ruiz\n") == "José Ruiz"


@pytest.mark.parametrize("name", ["", " \t", "a\x00b", "a\x1b[2J", "\u202eann", "a\u200bb", "\ud800", "x" * 101])
def test_a_name_that_nobody_can_read_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="is not a name"):
        clean_name(name)


@pytest.mark.parametrize("name", ["soel", "SOEL", "s o e l", "\u0455\u043e\u0435l", "söel"])
def test_nobody_can_pass_for_the_session_itself(name: str) -> None:
    with pytest.raises(DataError, match="calls itself"):
        clean_name(name)


@pytest.mark.parametrize("twin", ["ann", "ANN", "An n", "\u0410nn", "Änn", "\u0391nn"])
def test_a_new_name_must_not_look_like_a_known_one(twin: str) -> None:
    check_distinct("Ann", ["Ann", "Ben"])
    check_distinct("Anna", ["Ann", "Ben"])
    with pytest.raises(DataError, match="looks like 'Ann'"):
        check_distinct(twin, ["Ben", "Ann"])


@pytest.mark.parametrize(
    ("name", "twin"), [("Paul", "PauI"), ("Paul", "Pau1"), ("Otto", "0tto"), ("Emma", "Ernma"), ("Ian", "lan")]
)
def test_letters_that_look_like_others_make_no_new_name(name: str, twin: str) -> None:
    with pytest.raises(DataError, match="looks like"):
        check_distinct(twin, [name])


def test_signs_of_other_scripts_tell_names_apart() -> None:
    check_distinct("Marla", ["Maria"])
    check_distinct("राम", ["रीम"])
    check_distinct("かい", ["がい"])


@pytest.mark.parametrize("text", ["", "two\nlines\tand a tab\r\n", "李雷 ✓"])
def test_a_text_that_can_be_stored_everywhere(text: str) -> None:
    assert check_text(text) == text


@pytest.mark.parametrize("text", ["a\x00", "\x1b[2J", "\x7f", "\x85", "\udc00", "x" * 10_001])
def test_a_text_that_cannot(text: str) -> None:
    with pytest.raises(DataError, match=r"remove it|shorten it"):
        check_text(text)


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "\x00", "", "x" * 1001, "a\u2028b"])
def test_an_id_fits_on_a_line(name: str) -> None:
    assert check_id("pump 7 / März") == "pump 7 / März"
    with pytest.raises(DataError, match="id"):
        check_id(name)


@pytest.mark.parametrize("value", [10, 10.0, np.int8(10), np.float32(10)])
def test_whole_numbers_are_counts(value: Any) -> None:
    count = check_count("n", value)
    assert (count, type(count)) == (10, int)


@pytest.mark.parametrize("value", [1.5, "10", None, True, np.True_, float("inf"), float("nan"), [10], np.arange(9999)])
def test_what_is_no_count_is_told_in_one_short_sentence(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^n must be a whole number, got .{1,60}; give one such as 10\.$"):
        check_count("n", value)


@given(st.floats(0, 1))
def test_shares_lie_between_nothing_and_all(share: float) -> None:
    assert check_share("fdr", share) == share


@pytest.mark.parametrize("value", [-0.1, 1.1, 5, "0.1", None, True, float("nan"), [0.1]])
def test_what_is_no_share_is_told_in_one_short_sentence(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^fdr must be a share from 0 to 1, got .{1,60}; give one such as 0\.1\.$"):
        check_share("fdr", value)
