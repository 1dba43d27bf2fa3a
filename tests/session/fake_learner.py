"""A learner of a few numpy lines: the distance to the mean of what is not known to be an anomaly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel import model_folder
from soel.assess.threshold import parse_threshold
from soel.detect import DETECTORS
from soel.detect.detector import NOTHING, Detector
from soel.learner import Learner
from soel.model import Blend, Fitted
from soel.session import Session, SessionConfig
from soel.settings import Profile
from soel.types import (
    ANOMALY,
    NO_NAMES,
    NORMAL,
    Estimate,
    Evidence,
    Floats,
    Kind,
    Labels,
    Named,
    Pool,
    Progress,
    Proposal,
)


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

    def uses_network(self, labels: Labels) -> bool:
        return False

    def _fit_detector(self, rows: Floats, labels: Labels, share: float | None, named: Named = NO_NAMES) -> Detector:
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
        if self.contamination is not None:
            return super().estimate(rounds)
        self.seen.append(list(rounds))
        labels = np.concatenate([np.empty(0, np.int8), *[r.labels for r in rounds]])
        share = float(np.mean(labels == ANOMALY)) if len(labels) else 0.1
        return Estimate(share, 0.0, 1.0, "fake", {"weight": float("inf")})


def use_fake_learner(patch: pytest.MonkeyPatch) -> None:
    """Let sessions compute with it, in this process."""
    patch.setattr("soel.session.session.make_learner", make_fake_learner)
    patch.setitem(vars(DETECTORS)["_parts"], FromTheMean.name, f"{__name__}:FromTheMean")


def make_fake_learner(config: SessionConfig) -> FakeLearner:
    """The fake learner for a session's settings."""
    settings = config.settings if config.settings.get("kind") else {**config.settings, "kind": Kind.TABLE}
    rule = parse_threshold(config.threshold)
    return FakeLearner(Profile.from_json(settings), config.seed, rule, contamination=config.contamination)


def calls_of(session: Session) -> list[str]:
    """What the fake learner of a session was asked to do."""
    assert isinstance(session.learner, FakeLearner)
    return session.learner.calls


def spy_on_loads(patch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models that are loaded from now on."""
    loaded, load = list[str](), model_folder.load_model

    def note(folder: Path, *given: Any, **named: Any) -> Any:
        loaded.append(folder.name)
        return load(folder, *given, **named)

    patch.setattr(model_folder, "load_model", note)
    return loaded
