from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from soel.errors import DataError, LabelError
from soel.report.facts import PoolFacts, ReportFacts
from soel.report.session_report import _names

MakePool = Callable[..., PoolFacts]


def test_the_number_of_items_is_that_of_the_pool(facts: ReportFacts) -> None:
    assert facts.n_items == 397


def test_a_pool_of_unequal_parts_is_refused_with_the_lengths(make_pool: MakePool) -> None:
    with pytest.raises(DataError, match=r"\[3, 2, 3, 3\]"):
        make_pool(3, scores=np.zeros(2))


def test_an_empty_pool_is_refused() -> None:
    with pytest.raises(DataError, match="at least one"):
        PoolFacts([], np.zeros(0), np.zeros(0, np.int8), np.zeros((0, 2)))


def test_scores_must_be_finite(make_pool: MakePool) -> None:
    with pytest.raises(DataError, match="2 scores are not finite"):
        make_pool(3, scores=np.array([1.0, np.nan, np.inf]))


def test_unknown_label_codes_are_named(make_pool: MakePool) -> None:
    with pytest.raises(LabelError, match=r"\[-1, 2\]"):
        make_pool(2, labels=np.array([2, -1], np.int8))


def test_embeddings_must_be_a_matrix(make_pool: MakePool) -> None:
    with pytest.raises(DataError, match=r"\(N, D\), got \(3,\)"):
        make_pool(3, embeddings=np.zeros(3))


def test_labelled_rows_are_those_with_a_label(make_pool: MakePool) -> None:
    assert make_pool(5).labelled.tolist() == [0, 4]


def test_items_are_called_by_their_names_and_told_apart_where_two_are_called_alike() -> None:
    known = {"a1": "part.png", "b2": "part.png", "c3": "other.png"}
    called = {"a1": "part.png (a1)", "b2": "part.png (b2)", "c3": "other.png", "row 4": "row 4"}
    assert _names(["a1", "b2", "c3", "row 4"], known) == called
