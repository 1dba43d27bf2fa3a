"""Fingerprints: the same for equal rows, others for others, wherever a row stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from soel.detect import fingerprints as module
from soel.detect.fingerprints import fingerprints, is_among


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 1000))
def test_a_row_is_known_by_what_it_holds(n_rows: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3, width)).astype(np.float16)
    order = rng.permutation(n_rows)
    own = fingerprints(x)
    assert own.dtype == np.float32
    np.testing.assert_array_equal(own[order], fingerprints(x[order]))
    np.testing.assert_array_equal(own, fingerprints(x.astype(np.float64).reshape(n_rows, -1)))
    np.testing.assert_array_equal(is_among(own, own[: n_rows // 2]), np.arange(n_rows) < n_rows // 2)


def test_the_smallest_change_of_any_value_makes_another_row() -> None:
    x = np.zeros((1 + 64, 64), np.float32)
    x[np.arange(1, 65), np.arange(64)] = np.finfo(np.float32).tiny
    assert len(np.unique(fingerprints(x), axis=0)) == 65


def test_many_rows_hardly_ever_share_a_fingerprint() -> None:
    x = np.random.default_rng(0).integers(0, 2, (20_000, 40)).astype(np.float32)
    assert len(np.unique(fingerprints(x), axis=0)) == len(np.unique(x, axis=0))


def test_signed_zeros_are_equal_and_blocks_play_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0]])
    whole = fingerprints(x)
    np.testing.assert_array_equal(whole[0], whole[1])
    monkeypatch.setattr(module, "BLOCK_WORDS", 2)
    np.testing.assert_array_equal(fingerprints(x), whole)


def test_nothing_is_among_nothing() -> None:
    assert is_among(fingerprints(np.zeros((2, 3))), np.zeros((0, 2))).tolist() == [False, False]
    assert fingerprints(np.zeros((0, 3))).shape == (0, 2)
