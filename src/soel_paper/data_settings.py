"""Settings that the paper and its code change from data set to data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from soel import Profile

VIDEO = "ucsd-peds1"
VIDEO_BATCH, VIDEO_EPOCHS = 192, 3
LONG = ("positive", "positive-diverse")  # Hybr2, Hybr3, Pos1 and Pos2 train for the usual 30 epochs there
COLOUR_PHOTOS, CLOTHES = "cifar10", "fashion-mnist"
MHROT_RATE = 1e-4  # everywhere but on colour photos
CLOTHES_EPOCHS = 3  # of SOEL; all else trains for the usual number


def with_paper_settings(profile: Profile, dataset: str) -> Profile:
    """The profile with what the paper sets for this data set."""
    if profile.backbone == "mhrot":
        return _on_pixels(profile, dataset)
    if dataset == VIDEO:
        changes: dict[str, Any] = {"batch_size": VIDEO_BATCH}
        changes |= {} if profile.strategy in LONG else {"epochs": VIDEO_EPOCHS}
        return replace(profile, vectors=replace(profile.vectors, **changes))
    return profile


def _on_pixels(profile: Profile, dataset: str) -> Profile:
    changes: dict[str, Any] = {} if dataset == COLOUR_PHOTOS else {"learning_rate": MHROT_RATE}
    options: Mapping[str, Any] = profile.backbone_options
    if dataset == CLOTHES:
        changes |= {"epochs": CLOTHES_EPOCHS} if profile.objective == "soel" else {}
        options = {**options, "penalty": 0.0}
    return replace(profile, pictures=replace(profile.pictures, **changes), backbone_options=options)
