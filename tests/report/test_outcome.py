"""What a fit says of the whole pool, as a file."""

from __future__ import annotations

import numpy as np

from soel.assess.conformal import Reference
from soel.report.outcome import Outcome


def outcome_with(reference: Reference) -> Outcome:
    scores = np.array([1.0, 2.0, 3.0])
    return Outcome(scores, scores / 4, np.zeros((3, 2), np.float32), 2.5, reference)


def test_p_values_are_by_the_reference_or_by_the_pool() -> None:
    weighed = outcome_with(Reference(np.array([1.5, 2.5]), np.array([1.0, 0.5])))
    np.testing.assert_allclose(weighed.p_values, [1, 1.5 / 2.5, 1 / 2.5])
    alone = outcome_with(Reference.none())
    np.testing.assert_allclose(alone.p_values, [1, 0.75, 0.5])
