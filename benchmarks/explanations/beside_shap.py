"""The same rows explained by SHAP's permutations on the same score, with ordinary rows as its background."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

from soel import SOEL, Explanation
from soel.types import Floats

N_BACKGROUND = 20  # rows; each costs as much as all of an explanation by soel


@dataclass(frozen=True)
class Beside:
    """Of the rows explained: how often both name the same column first, how often each names what was planted; and how
    many times the processor time SHAP took.
    """

    n_rows: int
    same_first: float
    soel_named: float
    shap_named: float
    times: float


def compare(detector: SOEL, pool: Floats, rows: Floats, planted: np.ndarray) -> Beside:
    """planted: (n,) the column of each row that was broken."""
    import shap  # an extra of the benchmarks alone

    clock = time.process_time()
    ours = detector.explain(rows)
    ours_took = time.process_time() - clock
    calm = np.argsort(detector.anomaly_score(pool), kind="stable")[: len(pool) // 2]
    background = pool[calm[np.linspace(0, len(calm) - 1, N_BACKGROUND).astype(int)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock = time.process_time()
        explainer = shap.PermutationExplainer(detector.anomaly_score, background, seed=0)
        theirs = explainer(rows, max_evals=2 * rows.shape[1] + 1, silent=True).values.argmax(axis=1)
        theirs_took = time.process_time() - clock
    first = [first_columns(ours, row) for row in range(len(rows))]
    return Beside(
        len(rows),
        float(np.mean([column in named for column, named in zip(theirs, first, strict=True)])),
        float(np.mean([column in named for column, named in zip(planted, first, strict=True)])),
        float(np.mean(theirs == planted)),
        theirs_took / ours_took,
    )


def first_columns(explanation: Explanation, row: int) -> tuple[int, ...]:
    """The columns that are named first; none where nothing raises the score."""
    named = explanation.first(row, 1)
    return explanation.parts[named[0]] if named else ()
