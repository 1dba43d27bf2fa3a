"""A trained stack of members with everything needed to score: what a fit returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from soel.detectors import DETECTORS
from soel.metrics.calibration import Calibration
from soel.training import Model, losses, standardise
from soel.types import Estimate, Floats

COMPANION = "companion."  # prefix of a companion's arrays


@dataclass(frozen=True)
class Detector:
    """Scores rows by the mean of its members' standardised scores, and a companion's where there is one.

    centre, spread: (S,) mean and standard deviation of each member's scores over the pool.
    companion: (name, scorer); its score and `deep_weight` times the members' add up.
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
    companion: tuple[str, Any] | None = None
    deep_weight: float = 1.0

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of encoded rows (n, d); higher is more anomalous."""
        deep = standardise(losses(self.model, x)[0], self.centre, self.spread)
        if self.companion is None:
            return deep
        return np.asarray(self.companion[1].score(x) + self.deep_weight * deep)

    @property
    def history(self) -> list[list[float]]:
        """Mean loss per epoch and member."""
        return self.model.history


def standardised(model: Model, raw: Floats) -> Detector:
    """A detector whose standardisation is taken from the members' scores (S, N) of the pool."""
    scores = raw.astype(np.float64)
    centre, spread = scores.mean(axis=1), scores.std(axis=1)
    return Detector(model, centre, np.where(spread > 0, spread, 1.0))


def detector_state(detector: Detector) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A detector as arrays and plain JSON values."""
    arrays = {name: tensor.numpy() for name, tensor in detector.model.tensors().items()}
    if detector.companion is not None:
        arrays |= {COMPANION + name: array for name, array in detector.companion[1].arrays().items()}
    notes = {
        "model": detector.model.notes(),
        "centre": detector.centre.tolist(),
        "spread": detector.spread.tolist(),
        "threshold": detector.threshold,
        "companion": None if detector.companion is None else detector.companion[0],
        "deep_weight": detector.deep_weight,
        "estimate": None if detector.estimate is None else asdict(detector.estimate),
        "calibration": None if detector.calibration is None else asdict(detector.calibration),
    }
    return arrays, notes


def restored(model: Model, arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> Detector:
    """The detector back from its state; `model` is a fresh one of the same shape."""
    own = {name.removeprefix(COMPANION): array for name, array in arrays.items() if name.startswith(COMPANION)}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items() if not name.startswith(COMPANION)}
    model.restore(tensors, notes["model"])
    name = notes["companion"]
    return Detector(
        model,
        np.asarray(notes["centre"], np.float64),
        np.asarray(notes["spread"], np.float64),
        None if notes["estimate"] is None else Estimate(**notes["estimate"]),
        notes["threshold"],
        None if notes["calibration"] is None else Calibration(**notes["calibration"]),
        companion=None if name is None else (name, DETECTORS.get(name).from_arrays(own)),
        deep_weight=notes["deep_weight"],
    )
