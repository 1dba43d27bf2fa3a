"""What a fit says without a check, by hand."""

from __future__ import annotations

import numpy as np

from soel.assess.conformal import FitFigures
from soel.types import Estimate


def test_figures_by_hand() -> None:
    scores, labels = np.arange(10.0), np.full(10, -1, np.int8)
    labels[[9, 8, 2]] = [1, 0, 1]
    found = FitFigures.of(scores, labels, 6.0, Estimate(0.2, 0.1, 0.4, "by hand"))
    # Alarms: 7, 8 and 9. Between the quantiles at 0.6 (5.4) and 0.9 (8.1) lie 6, 7 and 8, of which 8 is labelled.
    assert found == FitFigures(n_alarms=3, n_unsure=2)
    assert FitFigures.from_json(found.to_json()) == found
