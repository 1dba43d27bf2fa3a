"""The engine of a session: the one loop, and model folders to keep between its steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soel.assess.threshold import parse_threshold
from soel.learner import HERE, Fitted, Learner, Warm
from soel.session import SessionConfig
from soel.session.api.models import SavedModel, load_model, save_model
from soel.settings import Profile
from soel.tables.encoder import Encoder


@dataclass(frozen=True)
class SessionEngine:
    """A learner with the session's encoder, so that a saved model is of use outside the session too."""

    loop: Learner
    encoder: Encoder

    @property
    def cluster(self) -> Any:
        """The heavy steps (a `RayCompute`), where they are taken on a cluster; else None."""
        return None if self.loop.compute is HERE else self.loop.compute

    def save(self, model: Warm | Fitted, folder: Path) -> str:
        """Write the model's folder; returns its fingerprint."""
        return save_model(folder, SavedModel(self.loop, model, self.encoder))

    def load(self, folder: Path, few_rows: bool = False) -> Warm | Fitted:
        """Read a model's folder."""
        return load_model(folder, few_rows=few_rows).model


def make_engine(config: SessionConfig, encoder: Encoder) -> SessionEngine:
    """The engine for a session's settings."""
    learner = Learner(
        Profile.from_json(config.settings),
        config.seed,
        parse_threshold(config.threshold),
        contamination=config.contamination,
    )
    return SessionEngine(learner, encoder)
