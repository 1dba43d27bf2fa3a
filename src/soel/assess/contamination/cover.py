"""Every row takes the label of its nearest queried row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.assess.contamination.base import ContaminationEstimator, wilson
from soel.numeric.distances import cell_sizes, squares_to
from soel.types import ANOMALY, Estimate, Evidence, Floats


class Cover(ContaminationEstimator):
    """The share of rows whose nearest queried row is an anomaly.

    The interval is Wilson's for the effective number of labels, 1 / sum of squared cell shares: one
    huge cell counts like one label.
    """

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The cover by the rows of all rounds, in the newest embedding."""
        rows = np.concatenate([r.rows for r in rounds])
        labels = np.concatenate([r.labels for r in rounds]) == ANOMALY
        shares = cell_shares(rounds[-1].embeddings, rows)
        value = float(shares[labels].sum())
        effective = float(1 / (shares**2).sum())
        low, high = wilson(value, effective)
        return Estimate(value, low, high, "cover", {"effective_labels": effective, "largest_cell": float(shares.max())})


def cell_shares(embeddings: Floats, rows: np.ndarray) -> Floats:
    """Share (K,) of the pool that is nearest to each of these rows."""
    x = np.asarray(embeddings, np.float32)
    return cell_sizes((squares_to(x, x[row]) for row in rows), len(x)) / len(x)
