"""Joining models into one stack and taking it apart again: several runs trained as one computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from soel.networks.training.model import Model

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
