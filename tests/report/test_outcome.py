"""What a fit says of the whole pool, as a file."""

from __future__ import annotations

import io

import numpy as np
import pytest

from soel.assess.conformal import Reference
from soel.report.outcome import Outcome, _pack, _read_reference


def outcome_with(reference: Reference) -> Outcome:
    scores = np.array([1.0, 2.0, 3.0])
    return Outcome(scores, scores / 4, np.zeros((3, 2), np.float32), 2.5, reference)


def test_a_reference_comes_back_with_its_weights() -> None:
    kept = outcome_with(Reference(np.array([0.5, 1.5, 2.5]), np.array([1.0, 0.5, 0.25])))
    with np.load(io.BytesIO(_pack(kept))) as arrays:
        found = _read_reference(arrays)
    np.testing.assert_array_equal(found.scores, kept.reference.scores)
    np.testing.assert_array_equal(found.weights, kept.reference.weights)


@pytest.mark.parametrize(("arrays", "weights"), [({}, []), ({"reference": np.array([1.0, 2.0])}, [1, 1])])
def test_files_of_older_releases_have_no_weights(arrays: dict[str, np.ndarray], weights: list[int]) -> None:
    assert _read_reference(arrays).weights.tolist() == weights


def test_p_values_are_by_the_reference_or_by_the_pool() -> None:
    weighed = outcome_with(Reference(np.array([1.5, 2.5]), np.array([1.0, 0.5])))
    np.testing.assert_allclose(weighed.p_values, [1, 1.5 / 2.5, 1 / 2.5])
    alone = outcome_with(Reference.none())
    np.testing.assert_allclose(alone.p_values, [1, 0.75, 0.5])
