"""What a fit says without a check, by hand."""

from __future__ import annotations

import numpy as np

from soel.assess.quality.figures import RoughFigures
from soel.types import Estimate


def test_rough_figures_by_hand() -> None:
    scores, labels = np.arange(10.0), np.full(10, -1, np.int8)
    labels[[9, 8, 2]] = [1, 0, 1]  # 2 is an anomaly without an alarm
    chances = np.where(labels < 0, 0.5, 0.0)
    found = RoughFigures.of(scores, labels, 6.0, chances, Estimate(0.2, 0.1, 0.4, "by hand"))
    # Alarms: 7, 8 and 9. 9 is real and 8 is not; of 7 nobody knows: one or two. Between the quantiles at 0.6 (5.4) and
    # 0.9 (8.1) lie 6, 7 and 8, of which 8 is labelled.
    assert found == RoughFigures(n_alarms=3, real_low=1, real_high=2, n_unsure=2)
    assert RoughFigures.from_json(found.to_json()) == found
