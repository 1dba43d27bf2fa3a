from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soel.errors import DataError
from soel_paper.catalogue_files import ClassSets, LabelledRows
from soel_paper.protocols import contaminate, frames, make_split, natural, one_vs_rest


def rows(n_normals: int, n_anomalies: int) -> LabelledRows:
    """Every row is its own number, so that it can be found again."""
    n = n_normals + n_anomalies
    return LabelledRows(np.arange(n, dtype=np.float32)[:, None], np.arange(n) >= n_normals)


@given(st.integers(4, 300), st.integers(4, 300), st.floats(0.01, 0.45), st.integers(0, 5))
def test_every_row_is_in_the_pool_or_in_the_test(n_normals: int, n_anomalies: int, share: float, seed: int) -> None:
    split = contaminate(rows(n_normals, n_anomalies), seed, share)
    everything = np.sort(np.concatenate([split.pool, split.test]).ravel())
    assert np.array_equal(everything, np.arange(n_normals + n_anomalies))
    assert split.test_truth.any()


def test_the_counts_are_those_of_the_paper() -> None:
    split = contaminate(rows(444, 239), 40)  # BreastW
    assert (len(split.pool), int(split.pool_truth.sum())) == (247, 24)
    assert split.test_truth.mean() == pytest.approx(0.493, abs=0.001)


def test_the_authors_take_the_first_anomalies() -> None:
    split = contaminate(rows(100, 50), 3, order="first")
    assert split.pool[split.pool_truth].ravel().tolist() == list(range(100, 105))


def test_a_share_beyond_the_anomalies_takes_fewer_normals() -> None:
    split = contaminate(rows(1000, 21), 0, share=0.2)
    assert (int(split.pool_truth.sum()), len(split.pool)) == (20, 100)


def test_natural_is_half_of_each_kind() -> None:
    split = natural(rows(101, 10), 0)
    assert (int((~split.pool_truth).sum()), int(split.pool_truth.sum())) == (51, 5)


def test_frames_have_the_paper_s_counts() -> None:
    split = frames(rows(9955, 4045), 0)
    assert (len(split.pool), int(split.pool_truth.sum())) == (6800 + 2914, 2914)


def test_one_class_is_normal_and_the_test_set_is_untouched() -> None:
    codes = np.repeat([0, 1, 2], 90)
    sets = ClassSets(np.zeros((270, 4)), codes, np.ones((30, 4)), np.repeat([0, 1, 2], 10))
    split = one_vs_rest(sets, 1, seed=0)
    assert (len(split.pool), int(split.pool_truth.sum())) == (100, 10)
    assert (len(split.test), int(split.test_truth.sum())) == (30, 20)


def test_a_given_share_overrides_the_natural_one() -> None:
    assert make_split("natural", rows(100, 80), 0, share=0.3).share == pytest.approx(0.3, abs=0.01)


def test_one_kind_alone_is_no_experiment() -> None:
    with pytest.raises(DataError, match="both kinds"):
        natural(rows(10, 0), 0)
