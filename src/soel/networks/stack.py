"""A stack of members on its way: weights, Adam moments and generators; and what it says of rows, block by block."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from soel.deep import Tensor, torch
from soel.networks.base import Backbone
from soel.numeric import n_cores, parallel_map
from soel.types import Floats, Precision

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
        return next(self.backbone.parameters()).device

    def copy(self) -> Model:
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


Result = TypeVar("Result")

BLOCK_VALUES = 1 << 18  # activations per block: fits the cache of a core, bounds the memory
WIDTH = 2048  # longer gradients are folded into this many values by a random signed sum
BLOCK = 256


def losses(model: Model, x: Floats) -> tuple[Floats, Floats]:
    """L0 and L1, each (S, n), of rows x: (n, d) seen by all members, or (S, n, d) one matrix each."""
    first, second = [], []
    for l0, l1 in _blocks(model, x, model.backbone.losses):
        first.append(l0.cpu().numpy())
        second.append(l1.cpu().numpy())
    return np.concatenate(first, axis=1), np.concatenate(second, axis=1)


def embed(model: Model, x: Floats) -> Floats:
    """Embeddings (S, n, D) of rows x: (n, d) or (S, n, d)."""
    return np.concatenate([part.cpu().numpy() for part in _blocks(model, x, model.backbone.embed)], axis=1)


def _blocks(model: Model, x: Floats, compute: Callable[[Tensor], Result]) -> list[Result]:
    matrix = torch.from_numpy(np.ascontiguousarray(x, np.float32))
    rows = matrix.expand(model.n_members, *matrix.shape) if matrix.ndim == 2 else matrix
    size = rows_per_block(rows.shape[0] * rows.shape[-1])
    model.backbone.eval()

    @torch.inference_mode()
    def one(block: Tensor) -> Result:
        return compute(block.to(model.device))

    blocks = rows.split(size, dim=1)
    if model.device.type == "cpu" and len(blocks) > 1:
        with threads_for(0, 0):  # one thread a block: none waits for another inside an operation
            return parallel_map(one, blocks, lambda: torch.set_num_threads(1))
    n_parameters = sum(parameter.numel() for parameter in model.backbone.parameters())
    with threads_for(size, n_parameters):
        return [one(block) for block in blocks]


def rows_per_block(row_values: int) -> int:
    """A power of two from 256 to 8192: parts of the pool that begin at multiples of 8192 are cut as the whole is."""
    fitting = BLOCK_VALUES // max(1, row_values * 16)
    return int(min(8192, max(256, 1 << max(fitting, 1).bit_length() - 1)))


def gradient_embeddings(model: Model, x: Floats, is_anomaly: np.ndarray, seed: int = 0) -> Floats:
    """Gradients (n, D) of each row's loss under its pseudo-label, all members side by side.

    x: (n, d). is_anomaly: (n,) of bool, the pseudo-labels. D is at most WIDTH per member.
    """
    backbone = model.backbone.eval()
    parameters = {name: p.detach() for name, p in backbone.named_parameters()}
    last = parameters.pop(backbone.last_layer)
    buffers = dict(backbone.named_buffers())

    def loss(layer: Tensor, row: Tensor, target: Tensor) -> Any:
        state = {**parameters, **buffers, backbone.last_layer: layer}
        rows = row.expand(model.n_members, 1, -1)
        l0, l1 = torch.func.functional_call(backbone, state, (rows,))
        return (target * l1 + (1 - target) * l0).sum()

    per_row = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    rows = torch.from_numpy(np.ascontiguousarray(x, np.float32)).to(model.device)
    targets = torch.from_numpy(is_anomaly.astype(np.float32)).to(model.device)
    parts = [
        _fold(per_row(last, block, target).flatten(1), seed).cpu().numpy()
        for block, target in zip(rows.split(BLOCK), targets.split(BLOCK), strict=True)
    ]
    return np.concatenate(parts)


def _fold(gradients: Tensor, seed: int) -> Tensor:
    """A random signed sum (n, WIDTH) of longer rows (n, D): keeps distances on average, needs no projection matrix."""
    n_rows, length = gradients.shape
    if length <= WIDTH:
        return gradients
    rng = np.random.default_rng(seed)
    buckets = torch.from_numpy(rng.integers(WIDTH, size=length)).to(gradients.device)
    signs = torch.from_numpy(rng.choice(np.array([-1.0, 1.0], np.float32), size=length)).to(gradients.device)
    return torch.zeros(n_rows, WIDTH, device=gradients.device).index_add_(1, buckets, gradients * signs)
