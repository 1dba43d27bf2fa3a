"""An engine of a few numpy lines: the distance to the mean of what is not known to be an anomaly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from soel.errors import ModelFileError
from soel.queries.base import Strategy
from soel.types import ANOMALY, Estimate, Evidence, Floats, Labels, PoolView, Progress, Rows, Selection


@dataclass(frozen=True)
class FakeModel:
    centre: tuple[float, ...]
    threshold: float
    trained: bool = False


@dataclass
class FakeEngine:
    """Remembers what it was asked to do, so that tests can look."""

    seen: list[list[Evidence]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def warm_up(self, pool: Floats, progress: Progress | None = None) -> FakeModel:
        self.calls.append("warm_up")
        if progress is not None:
            progress(1, 1)
        return FakeModel(tuple(np.mean(pool, axis=0).tolist()), float("inf"))

    def look(self, model: FakeModel, pool: Floats, gradient_rate: float | None = None) -> tuple[Floats, Floats]:
        self.calls.append("look" if gradient_rate is None else f"look at {gradient_rate}")
        return self.score(model, pool), np.asarray(pool, np.float32)

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        return strategy.select(view, n, rng, n_reserve)

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        self.seen.append(list(rounds))
        labels = np.concatenate([np.empty(0, np.int8), *[r.labels for r in rounds]])
        share = float(np.mean(labels == ANOMALY)) if len(labels) else 0.1
        return Estimate(share, 0.0, 1.0, "fake", {"weight": float("inf")})

    def learn(
        self,
        warm: FakeModel,
        pool: Floats,
        labels: Labels,
        estimate: Estimate,
        progress: Progress | None = None,
    ) -> FakeModel:
        assert not warm.trained, "a fit must restart from the warm-up"
        self.calls.append("learn")
        centre = np.mean(pool[labels != ANOMALY], axis=0)
        model = FakeModel(tuple(centre.tolist()), 0.0, trained=True)
        cut = float(np.quantile(self.score(model, pool), 1 - estimate.value))
        return replace(model, threshold=cut)

    def score(self, model: FakeModel, x: Floats) -> Floats:
        return np.asarray(np.linalg.norm(x - np.array(model.centre), axis=1))

    def alarms(self, model: FakeModel, scores: Floats) -> np.ndarray:
        return np.asarray(scores > model.threshold)

    def with_rule(self, model: FakeModel, pool: Floats, rule: str) -> FakeModel:
        share = float(rule.removeprefix("share="))
        return replace(model, threshold=float(np.quantile(self.score(model, pool), 1 - share)))

    def save(self, model: FakeModel, folder: Path) -> str:
        text = json.dumps([model.centre, model.threshold, model.trained])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.json").write_text(text)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def load(self, folder: Path) -> FakeModel:
        self.calls.append(f"load {folder.name}")
        if not (folder / "model.json").exists():
            raise ModelFileError(f"{folder} is incomplete.")
        centre, threshold, trained = json.loads((folder / "model.json").read_text())
        return FakeModel(tuple(centre), threshold, trained)
