"""The estimator on frames as people have them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from soel import SOEL
from soel.errors import DataWarning
from soel.tables.codes import Scale
from soel.tables.frame import read_frame
from tests.test_estimator import quick


def make(decimal: str = ",") -> pd.DataFrame:
    x = np.random.default_rng(0).normal(size=(60, 2)).round(2) + 5
    return pd.DataFrame({f"c{at}": [f"{value:.2f} €".replace(".", decimal) for value in x[:, at]] for at in range(2)})


def test_numbers_in_text_score_as_numbers_do() -> None:
    table = make()
    plain = table.map(lambda text: float(text.removesuffix(" €").replace(",", ".")))
    np.testing.assert_array_equal(quick().fit(table).anomaly_score(table), quick().fit(plain).anomaly_score(plain))


def test_columns_that_are_left_out_change_nothing_and_survive_saving(tmp_path: Any) -> None:
    table = make().assign(memo="x", label=[0, 1] * 30)
    detector = quick().set_params(columns={"ignore": ["memo", "label"]}).fit(table)
    plain = quick().fit(make())
    np.testing.assert_array_equal(detector.anomaly_score(table), plain.anomaly_score(make()))
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(SOEL.load(tmp_path / "model").anomaly_score(table), plain.anomaly_score(make()))


def test_what_could_be_meant_otherwise_is_warned_about() -> None:
    with pytest.warns(DataWarning, match="'label' .*looks like a label"):
        quick().fit(make().assign(label=[0, 1] * 30))


def test_whole_numbers_that_lose_digits_are_warned_about() -> None:
    with pytest.warns(DataWarning, match="beyond 2"):
        read_frame(np.array([[2**53 + 1], [2**53 + 3]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_frame(np.array([[2**53], [5]]))


def test_the_smallest_numbers_of_all_are_told_apart() -> None:
    values = np.array([0.0, 5e-324, 1e-323, 5e-324] * 9)
    scaled = Scale.fit(values, "standard").apply(values)
    assert len(np.unique(scaled)) == 3
    assert np.isfinite(scaled).all()


def test_scores_are_those_of_the_same_numbers_in_either_precision() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 4)) * [0.01, 1, 300, 7e5] + [0, -3, 20, 1e6]
    rough = X.astype(np.float32)
    labels = [1] * 3 + [0] * 5 + [None] * 192
    fitted, same = quick().fit(X, labels), quick().fit(rough, labels)
    np.testing.assert_array_equal(fitted.anomaly_score(X), same.anomaly_score(rough))
    np.testing.assert_array_equal(fitted.anomaly_score(X), fitted.anomaly_score(rough))


def test_numbers_far_from_zero_keep_their_digits() -> None:
    values = 1.7e9 + np.arange(60.0)
    assert len(np.unique(Scale.fit(values, "standard").apply(values))) == 60
