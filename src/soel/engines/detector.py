"""A trained stack of members with everything needed to score: what a fit returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from soel.metrics.calibration import Calibration
from soel.training import Model, losses, standardise
from soel.types import Estimate, Floats


@dataclass(frozen=True)
class Detector:
    """Scores rows by the mean of its members' standardised scores.

    centre, spread: (S,) mean and standard deviation of each member's scores over the pool.
    threshold, calibration and estimate are there once it was trained with or without labels; a model
    fresh from the warm-up has none.
    """

    model: Model
    centre: Floats
    spread: Floats
    estimate: Estimate | None = None
    threshold: float | None = None
    calibration: Calibration | None = None
    pool_scores: Floats | None = None

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of encoded rows (n, d); higher is more anomalous."""
        return standardise(losses(self.model, x)[0], self.centre, self.spread)

    @property
    def history(self) -> list[list[float]]:
        """Mean loss per epoch and member."""
        return self.model.history


def on_pool(model: Model, pool: Floats) -> Detector:
    """A detector whose standardisation is taken from the pool (N, d)."""
    scores = losses(model, pool)[0].astype(np.float64)
    centre, spread = scores.mean(axis=1), scores.std(axis=1)
    detector = Detector(model, centre, np.where(spread > 0, spread, 1.0))
    return replace(detector, pool_scores=standardise(scores, detector.centre, detector.spread))


def detector_state(detector: Detector) -> tuple[dict[str, Any], dict[str, Any]]:
    """A detector as tensors and plain JSON values."""
    tensors = detector.model.tensors()
    notes = {
        "model": detector.model.notes(),
        "centre": detector.centre.tolist(),
        "spread": detector.spread.tolist(),
        "threshold": detector.threshold,
        "estimate": None if detector.estimate is None else asdict(detector.estimate),
        "calibration": None if detector.calibration is None else asdict(detector.calibration),
    }
    return tensors, notes


def restored(model: Model, tensors: Mapping[str, Any], notes: Mapping[str, Any]) -> Detector:
    """The detector back from its state; `model` is a fresh one of the same shape."""
    model.restore(tensors, notes["model"])
    return Detector(
        model,
        np.asarray(notes["centre"], np.float64),
        np.asarray(notes["spread"], np.float64),
        None if notes["estimate"] is None else Estimate(**notes["estimate"]),
        notes["threshold"],
        None if notes["calibration"] is None else Calibration(**notes["calibration"]),
    )
