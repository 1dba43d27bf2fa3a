"""The engine of a session: computes on this machine, saves and loads whole detectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from soel.api.models import SavedDetector, load_detector, save_detector
from soel.data.encoder import Encoder
from soel.engines.compute import HERE
from soel.engines.detector import Detector
from soel.engines.local import LocalEngine
from soel.errors import SessionError
from soel.metrics.threshold import parse_threshold
from soel.profiles import Profile
from soel.queries.base import Strategy
from soel.session import SessionConfig
from soel.types import Estimate, Evidence, Floats, Labels, PoolView, Progress, Rows, Selection


@dataclass(frozen=True)
class SessionEngine:
    """A local engine with the session's encoder, so that a saved model is of use outside the session too."""

    local: LocalEngine
    encoder: Encoder

    @property
    def cluster(self) -> Any:
        """The heavy steps (a `RayCompute`), where they are taken on a cluster; else None."""
        return None if self.local.compute is HERE else self.local.compute

    def warm_up(self, pool: Floats, progress: Progress | None = None) -> Detector:
        """Train new members on all rows as if normal."""
        return self.local.warm_up(pool, progress)

    def look(self, model: Detector, pool: Floats, gradient_rate: float | None = None) -> tuple[Floats, Floats]:
        """Scores and embeddings, or gradients."""
        return self.local.look(model, pool, gradient_rate)

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        """What the strategy picks."""
        return self.local.select(strategy, view, n, rng, n_reserve, rows)

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The share of anomalies from all answers so far."""
        return self.local.estimate(rounds)

    def learn(
        self,
        warm: Detector,
        pool: Floats,
        labels: Labels,
        estimate: Estimate,
        progress: Progress | None = None,
    ) -> Detector:
        """Train from the warm-up and set the threshold."""
        return self.local.learn(warm, pool, labels, estimate, progress)

    def score(self, model: Detector, x: Floats) -> Floats:
        """Anomaly scores of encoded rows."""
        return self.local.score(model, x)

    def alarms(self, model: Detector, scores: Floats) -> np.ndarray:
        """Which scores lie above the threshold."""
        return self.local.alarms(model, scores)

    def with_rule(self, model: Detector, pool: Floats, rule: str) -> Detector:
        """The same detector with its threshold set by another rule."""
        if model.estimate is None or model.calibration is None:
            raise SessionError("A model that was only warmed up has no threshold; fit first.")
        scores = self.local.score(model, pool)
        probabilities = model.calibration.probabilities(scores)
        return replace(model, threshold=parse_threshold(rule).cut(scores, model.estimate.value, probabilities))

    def save(self, model: Detector, folder: Path) -> str:
        """Write the model's folder; returns its fingerprint."""
        return save_detector(folder, SavedDetector(self.local, model, self.encoder))

    def load(self, folder: Path) -> Detector:
        """Read a model's folder."""
        return load_detector(folder).detector


def make_engine(config: SessionConfig, encoder: Encoder) -> SessionEngine:
    """The engine for a session's settings."""
    local = LocalEngine(
        Profile.from_json(config.settings),
        config.seed,
        parse_threshold(config.threshold),
        contamination=config.contamination,
    )
    return SessionEngine(local, encoder)
