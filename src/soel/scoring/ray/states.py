"""Models on their way to another machine and back: plain arrays and JSON values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from soel import model as models
from soel.learner import Blend, Learner
from soel.networks import Model
from soel.settings import Profile

WEIGHTS, NOTES = "weights.safetensors", "notes.json"


@dataclass(frozen=True)
class Form:
    """The shape of a model: what an empty one is made from. profile: as plain JSON values."""

    profile: Mapping[str, Any]
    seed: int
    n_features: int

    def new_model(self) -> Model:
        """An untrained model."""
        profile = Profile.from_json(self.profile)
        return Learner(profile, self.seed).new_model(self.n_features)


@dataclass(frozen=True)
class State:
    """Of a network, or of all that scores. arrays: weights and the like by name. notes: the rest, as plain JSON."""

    arrays: Mapping[str, np.ndarray]
    notes: Mapping[str, Any]


def model_state(model: Model) -> State:
    """The state of a model."""
    return State({name: tensor.numpy() for name, tensor in model.tensors().items()}, model.notes())


def restore_model(model: Model, state: State) -> Model:
    """The model, taken to that state. Arrays from another process must not be written to, so they are copied."""
    model.restore({name: torch.from_numpy(array.copy()) for name, array in state.arrays.items()}, state.notes)
    return model


def state_of(blend: Blend) -> State:
    """The state of what scores."""
    return State(*models.state_of(blend))


def restore_blend(form: Form, state: State) -> Blend:
    """What scores, in that state."""
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    return models.restore_blend(arrays, state.notes, form.new_model)


def write_state(folder: Path, state: State) -> None:
    """Write a state into a folder."""
    save_file({name: np.ascontiguousarray(array) for name, array in state.arrays.items()}, folder / WEIGHTS)
    (folder / NOTES).write_text(json.dumps(dict(state.notes)), encoding="utf-8")


def read_state(folder: Path) -> State:
    """Read it back."""
    return State(load_file(folder / WEIGHTS), json.loads((folder / NOTES).read_text(encoding="utf-8")))
