"""A backbone on its way: weights, Adam moments and the members' generators, to be copied, saved and resumed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from soel.networks.backbones.base import Backbone


class Model:
    """Everything that training goes on from. A fit works on a copy, so that each restarts from the warm-up."""

    def __init__(self, backbone: Backbone, rngs: Sequence[np.random.Generator], learning_rate: float) -> None:
        if len(rngs) != backbone.n_members:
            raise ValueError(f"A stack of {backbone.n_members} members needs as many generators, got {len(rngs)}.")
        self.backbone, self.rngs, self.learning_rate = backbone, list(rngs), learning_rate
        self.history: list[list[float]] = []  # mean loss per epoch and member
        self._moments: dict[int, dict[str, Tensor]] = {}  # of Adam, until a step is taken

    @cached_property
    def optimizer(self) -> torch.optim.Adam:
        """Adam with its moments, made when something is trained: torch loads its compiler for it."""
        on_gpu = self.device.type == "cuda"  # there a step may be recorded
        made = torch.optim.Adam(self.backbone.parameters(), lr=self.learning_rate, fused=True, capturable=on_gpu)
        if self._moments:
            made.load_state_dict(made.state_dict() | {"state": self._moments})
        return made

    @property
    def n_members(self) -> int:
        """S, the number of members trained together."""
        return self.backbone.n_members

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.backbone.parameters()).device

    def copy(self) -> Model:
        """An independent model in the same state."""
        twin = Model(copy.deepcopy(self.backbone), copy.deepcopy(self.rngs), self.learning_rate)
        twin._moments = copy.deepcopy(self._newest_moments)
        twin.history = copy.deepcopy(self.history)
        return twin

    def tensors(self) -> dict[str, Tensor]:
        """Weights, buffers and Adam moments by name."""
        named = {f"backbone.{name}": value for name, value in self.backbone.state_dict().items()}
        for index, moments in self._newest_moments.items():
            named |= {f"adam.{index}.{key}": value for key, value in moments.items()}
        return {name: value.detach().cpu().contiguous().clone() for name, value in named.items()}

    def notes(self) -> dict[str, Any]:
        """The rest of the state, as plain JSON values."""
        return {
            "learning_rate": self.learning_rate,
            "generators": [rng.bit_generator.state for rng in self.rngs],
            "history": self.history,
        }

    def restore(self, tensors: Mapping[str, Tensor], notes: Mapping[str, Any]) -> None:
        """Take over a saved state; the backbone must have the same shape."""
        weights = {name.removeprefix("backbone."): t for name, t in tensors.items() if name.startswith("backbone.")}
        self.backbone.load_state_dict(weights)
        self._restore_moments(tensors)
        for rng, state in zip(self.rngs, notes["generators"], strict=True):
            rng.bit_generator.state = state
        self.history = [list(epoch) for epoch in notes["history"]]

    def _restore_moments(self, tensors: Mapping[str, Tensor]) -> None:
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("adam."):
                _, index, key = name.split(".")
                moments.setdefault(int(index), {})[key] = value.clone()  # a step changes them in place
        self._moments = moments
        self.__dict__.pop("optimizer", None)

    @property
    def _newest_moments(self) -> dict[int, dict[str, Tensor]]:
        """Those of the optimizer, where there is one by now."""
        return self.optimizer.state_dict()["state"] if "optimizer" in self.__dict__ else self._moments
