"""Saving and loading whole detectors: engine settings, encoder and weights in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.assess.threshold import parse_threshold
from soel.errors import ModelFileError
from soel.learner import Fitted, Learner, Warm
from soel.model import restore, state_of
from soel.networks import without_torch
from soel.session.stores.models import read_model, write_model
from soel.settings import Profile
from soel.tables.encoder import Encoder

if TYPE_CHECKING:
    from soel.networks.base import UserModule


@dataclass(frozen=True)
class SavedModel:
    """A model with what is needed to use it on a user's own table. `extra`: plain JSON of the face that saved it."""

    learner: Learner
    model: Warm | Fitted
    encoder: Encoder
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fitted(self) -> Fitted:
        """The model, if it has learnt."""
        if isinstance(self.model, Warm):
            raise ModelFileError("This model was only warmed up: it has no threshold yet. Fit first.")
        return self.model


def save_model(folder: Path, saved: SavedModel) -> str:
    """Write the model's folder, whole or not at all; returns its fingerprint."""
    arrays, notes = state_of(saved.model)
    learner = saved.learner
    content = {
        "detector": notes,
        "n_features": saved.encoder.n_features,
        "encoder": saved.encoder.to_json(),
        "profile": learner.profile.to_json(),
        "own_backbone": learner.backbone is not None,
        "seed": learner.seed,
        "threshold_rule": str(learner.threshold),
        "contamination": learner.contamination,
        "extra": dict(saved.extra),
    }
    return write_model(folder, arrays, content)


def load_model(folder: Path, backbone: UserModule | None = None, few_rows: bool = False) -> SavedModel:
    """Read a model's folder. One that was trained with a user's own backbone needs it again.

    few_rows: whether only a few rows will be scored; then torch is not loaded where that can be done without it, and
    scores agree to about 1e-5.
    """
    arrays, content = read_model(Path(folder))
    if content.get("own_backbone") and backbone is None:
        raise ModelFileError(
            f"{folder} was trained with your own backbone: pass the same one as backbone=... to load it."
        )
    try:
        return _rebuild(arrays, content, backbone, few_rows)
    except ModelFileError as error:
        raise ModelFileError(f"The manifest of {folder} cannot be used. {error}") from error
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ModelFileError(f"The manifest of {folder} does not fit its weights: {error}.") from error


def _rebuild(
    arrays: Mapping[str, np.ndarray], content: Mapping[str, Any], backbone: UserModule | None, few_rows: bool
) -> SavedModel:
    width = int(content["n_features"])
    _check_size(arrays, width)
    rule = parse_threshold(content["threshold_rule"])
    profile = Profile.from_json(content["profile"])
    learner = Learner(profile, content["seed"], rule, backbone, content["contamination"])
    few = without_torch(profile.backbone) if few_rows and backbone is None else None
    model = restore(arrays, content["detector"], lambda: learner.new_model(width), few)
    return SavedModel(learner, model, Encoder.from_json(content["encoder"]), content["extra"])


def _check_size(arrays: Mapping[str, np.ndarray], n_features: int) -> None:
    """A manifest that lies about its width must not make us build a huge network."""
    widest = max((size for array in arrays.values() for size in array.shape), default=0)
    if not 0 < n_features <= widest:
        raise ValueError(f"{n_features} features are claimed, the largest tensor axis is {widest}")
