"""A backbone on its way: weights, Adam moments and generators, to be copied, saved, joined and resumed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from soel.deep import Tensor, torch
from soel.networks.base import Backbone
from soel.numeric import n_cores
from soel.types import Precision

ROWS_TIMES_PARAMETERS = 3e7  # below this a step is mostly overhead, and waiting for a second thread adds to it


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


MakeModel = Callable[[int], Model]


def join(models: Sequence[Model], make: MakeModel) -> Model:
    """One model with the members of all, in order. make: number of members -> a fresh model of that shape."""
    joined = make(sum(model.n_members for model in models))
    parts = [model.tensors() for model in models]
    tensors = {name: _join([part[name] for part in parts]) for name in parts[0]}
    epochs = zip(*(model.history for model in models), strict=True)
    joined.restore(
        tensors,
        {
            "generators": [state for model in models for state in model.notes()["generators"]],
            "history": [[loss for losses in epoch for loss in losses] for epoch in epochs],
        },
    )
    return joined


def split(stack: Model, n_models: int, make: MakeModel) -> list[Model]:
    """The stack as `n_models` models with the same number of members each."""
    size = stack.n_members // n_models
    tensors, generators = stack.tensors(), stack.notes()["generators"]
    models = []
    for index in range(n_models):
        members = slice(index * size, (index + 1) * size)
        model = make(size)
        model.restore(
            {name: _part(tensor, index, n_models) for name, tensor in tensors.items()},
            {"generators": generators[members], "history": [epoch[members] for epoch in stack.history]},
        )
        models.append(model)
    return models


def _join(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return tensors[0] if tensors[0].ndim == 0 else torch.cat(list(tensors))  # Adam's step count is the same in all


def _part(tensor: torch.Tensor, index: int, n_models: int) -> torch.Tensor:
    return tensor if tensor.ndim == 0 else tensor.chunk(n_models)[index].clone()


@contextmanager
def threads_for(n_rows: int, n_parameters: int) -> Iterator[None]:
    """Set torch's thread count for this much work per step, and put it back afterwards."""
    before = torch.get_num_threads()
    small = n_rows * n_parameters < ROWS_TIMES_PARAMETERS
    torch.set_num_threads(1 if small else n_cores())
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def precision(setting: Precision) -> Iterator[None]:
    """Matrix products in full float32 ('highest') or TF32 ('high'); only a GPU knows the difference."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
