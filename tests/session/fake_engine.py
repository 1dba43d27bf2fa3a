"""An engine of a few numpy lines: the distance to the mean of what is not known to be an anomaly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soel.assess.calibration import Calibration
from soel.assess.conformal import Reference
from soel.assess.threshold import parse_threshold
from soel.detect.base import NOTHING, Detector
from soel.errors import ModelFileError
from soel.learner import Learner
from soel.model import Blend, Fitted
from soel.session import SessionConfig
from soel.settings import Profile
from soel.types import ANOMALY, NORMAL, Estimate, Evidence, Floats, Kind, Labels, Pool, Progress, Proposal


@dataclass(frozen=True)
class FromTheMean(Detector):
    """Scores rows by their distance from the mean of the rows that are not labelled anomalies.

    The option `heed` moves it towards the mean of those labelled normal, from 0 to 1.
    """

    centre: Floats
    name = "from-the-mean"

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> FromTheMean:
        centre, heed = np.mean(pool[labels != ANOMALY], axis=0), options.get("heed", 0.0)
        if heed and (labels == NORMAL).any():
            centre = (1 - heed) * centre + heed * np.mean(pool[labels == NORMAL], axis=0)
        return cls(centre)

    def score(self, x: Floats) -> Floats:
        return np.asarray(np.linalg.norm(x - self.centre, axis=1))

    def space(self, x: Floats) -> Floats:
        return np.asarray(x, np.float32)


@dataclass(frozen=True)
class FakeLearner(Learner):
    """The real loop, with a detector of one line and no network. Remembers what it was asked to do."""

    seen: list[list[Evidence]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @property
    def starts_with_network(self) -> bool:
        return False

    def hears_network(self, labels: Labels) -> bool:
        return False

    def _fit_detector(self, rows: Floats, labels: Labels, share: float | None) -> Detector:
        return FromTheMean.fit(rows, labels, self.seed, options={"heed": 0.5} if self.is_sequential else NOTHING)

    def prepare(self, pool: Pool, progress: Progress | None = None) -> Blend:
        self.calls.append("prepare")
        if progress is not None:
            progress(1, 1)
        return super().prepare(pool, progress)

    def propose(self, *given: Any, **options: Any) -> Proposal:
        self.calls.append("propose")
        return super().propose(*given, **options)

    def learn(
        self, warm: Blend, pool: Pool, rounds: Sequence[Evidence], labels: Labels, progress: Progress | None = None
    ) -> Fitted:
        assert not isinstance(warm, Fitted), "a fit must restart from the warm-up"
        self.calls.append("learn")
        return super().learn(warm, pool, rounds, labels, progress)

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        self.seen.append(list(rounds))
        labels = np.concatenate([np.empty(0, np.int8), *[r.labels for r in rounds]])
        share = float(np.mean(labels == ANOMALY)) if len(labels) else 0.1
        return Estimate(share, 0.0, 1.0, "fake", {"weight": float("inf")})


class FakeEngine:
    """A fake learner, and model files of one line."""

    def __init__(self, config: SessionConfig) -> None:
        settings = config.settings if config.settings.get("kind") else {**config.settings, "kind": Kind.TABLE}
        rule = parse_threshold(config.threshold)
        profile = Profile.from_json(settings)
        self.loop = FakeLearner(profile, config.seed, rule, contamination=config.contamination)

    @property
    def seen(self) -> list[list[Evidence]]:
        return self.loop.seen

    @property
    def calls(self) -> list[str]:
        return self.loop.calls

    def save(self, model: Blend, folder: Path) -> str:
        detector = model.detector
        assert isinstance(detector, FromTheMean)
        content: dict[str, Any] = {"centre": detector.centre.tolist()}
        if isinstance(model, Fitted):
            content |= {
                "estimate": asdict(model.estimate),
                "threshold": model.threshold,
                "calibration": asdict(model.calibration),
                "pool_scores": model.pool_scores.tolist(),
            }
        text = json.dumps(content)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.json").write_text(text)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def load(self, folder: Path) -> Blend:
        self.calls.append(f"load {folder.name}")
        if not (folder / "model.json").exists():
            raise ModelFileError(f"{folder} is incomplete.")
        content = json.loads((folder / "model.json").read_text())
        detector = FromTheMean(np.array(content["centre"], np.float32))
        if "estimate" not in content:
            return Blend(detector)
        return Fitted(
            detector=detector,
            estimate=Estimate(**content["estimate"]),
            threshold=content["threshold"],
            calibration=Calibration(**content["calibration"]),
            pool_scores=np.array(content["pool_scores"]),
            pool_labels=np.zeros(0, np.int8),
            reference=Reference.none(),
        )
