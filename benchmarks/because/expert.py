"""An expert who names the column that makes a row an anomaly: a forest that was shown every label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from soel.types import Floats

TREES, DONORS = 200, 30


@dataclass(frozen=True)
class NamingExpert:
    """forest: of all rows. donors: (k, d) normal rows, whose values are put into an anomaly, a column at a time."""

    forest: RandomForestClassifier
    donors: Floats

    @classmethod
    def of(cls, x: Floats, truth: NDArray[np.bool_]) -> NamingExpert:
        """From all rows (n, d) with their truth."""
        forest = RandomForestClassifier(TREES, class_weight="balanced", random_state=0, n_jobs=1).fit(x, truth)
        normal = x[~truth]
        chosen = np.random.default_rng(0).choice(len(normal), min(DONORS, len(normal)), replace=False)
        return cls(forest, normal[chosen])

    def name(self, row: Floats) -> int:
        """The column of a row (d,) whose change to normal values makes it the most ordinary, on average."""
        n_donors, width = self.donors.shape
        changed = np.tile(row, (width, n_donors, 1))
        for column in range(width):
            changed[column, :, column] = self.donors[:, column]
        chances = self.forest.predict_proba(changed.reshape(-1, width))[:, 1]
        return int(chances.reshape(width, n_donors).mean(axis=1).argmin())


def mistake(named: Iterable[tuple[int, int]], width: int, share: float, seed: int) -> dict[int, list[int]]:
    """Columns named for rows, of which this share is replaced by any other column."""
    rng, found = np.random.default_rng(seed), dict[int, list[int]]()
    for row, column in named:
        others = np.setdiff1d(np.arange(width), [column])
        is_wrong = rng.random() < share and len(others)
        found[row] = [int(rng.choice(others)) if is_wrong else column]
    return found
