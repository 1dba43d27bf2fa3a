"""Saving and loading whole detectors: engine settings, encoder and weights in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soel.backbones.base import UserModule
from soel.data.encoder import Encoder
from soel.engines.detector import Detector, detector_state, restored
from soel.engines.local import LocalEngine
from soel.errors import ModelFileError
from soel.metrics.threshold import parse_threshold
from soel.profiles import Profile
from soel.stores.models import read_model, write_model


@dataclass(frozen=True)
class SavedDetector:
    """A detector with what is needed to use it on a user's own table. `extra`: plain JSON of the face that saved it."""

    engine: LocalEngine
    detector: Detector
    encoder: Encoder | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def save_detector(folder: Path, saved: SavedDetector) -> str:
    """Write the detector's folder, whole or not at all; returns its fingerprint."""
    arrays, notes = detector_state(saved.detector)
    engine = saved.engine
    content = {
        "detector": notes,
        "n_features": _width(saved),
        "encoder": None if saved.encoder is None else saved.encoder.to_json(),
        "profile": engine.profile.to_json(),
        "own_backbone": engine.backbone is not None,
        "seed": engine.seed,
        "threshold_rule": str(engine.threshold),
        "contamination": engine.contamination,
        "extra": dict(saved.extra),
    }
    return write_model(folder, arrays, content)


def load_detector(folder: Path, backbone: UserModule | None = None) -> SavedDetector:
    """Read a detector's folder. One that was trained with a user's own backbone needs it again."""
    arrays, content = read_model(Path(folder))
    if content.get("own_backbone") and backbone is None:
        raise ModelFileError(
            f"{folder} was trained with your own backbone: pass the same one as backbone=... to load it."
        )
    try:
        return _rebuild(arrays, content, backbone)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"The manifest of {folder} does not fit its weights: {error}.") from error


def _rebuild(
    arrays: Mapping[str, np.ndarray], content: Mapping[str, Any], backbone: UserModule | None
) -> SavedDetector:
    profile = Profile.from_json(content["profile"])
    rule = parse_threshold(content["threshold_rule"])
    engine = LocalEngine(profile, content["seed"], rule, backbone, content["contamination"])
    _check_size(arrays, int(content["n_features"]))
    detector = restored(engine.new_model(int(content["n_features"])), arrays, content["detector"])
    encoder = None if content["encoder"] is None else Encoder.from_json(content["encoder"])
    return SavedDetector(engine, detector, encoder, content["extra"])


def _check_size(arrays: Mapping[str, np.ndarray], n_features: int) -> None:
    """A manifest that lies about its width must not make us build a huge network."""
    widest = max((size for array in arrays.values() for size in array.shape), default=0)
    if not 0 < n_features <= widest:
        raise ValueError(f"{n_features} features are claimed, the largest tensor axis is {widest}")


def _width(saved: SavedDetector) -> int:
    if saved.encoder is not None:
        return saved.encoder.n_features
    return int(saved.extra["n_features"])
