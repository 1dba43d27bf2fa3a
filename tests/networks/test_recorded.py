"""Recorded steps: which calls are computed, which are recorded, and that each sees its own inputs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from soel.networks.loop import Recorded, Recording


class Tape(Recording):
    """A recording without a GPU: it computes again, from the places of its inputs into that of its output."""

    def __init__(self, compute: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> None:
        self._inputs, self._compute = [tensor.clone() for tensor in inputs], compute
        self._output = torch.full_like(inputs[0], torch.nan)
        self._graph = self

    def replay(self, inputs: tuple[Tensor, ...] | None = None) -> Tensor:
        if inputs is not None:
            return super().replay(inputs)
        return self._output.copy_(self._compute(*self._inputs))


def test_every_call_gives_what_the_computation_gives() -> None:
    recorded = Recorded(lambda x, y: 2 * x + y, Tape)
    results = []
    for value in range(5):
        x = torch.full((3,), float(value))
        results.append(recorded(x, torch.ones(3)))
        x.zero_()
    assert [result.tolist() for result in results] == [[2.0 * value + 1] * 3 for value in range(5)]


def test_each_shape_is_computed_once_and_then_recorded() -> None:
    made: list[torch.Size] = []

    class Counted(Tape):
        def __init__(self, compute: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> None:
            made.append(inputs[0].shape)
            super().__init__(compute, inputs)

    recorded = Recorded(lambda x: x + 1, Counted)
    for size in (2, 2, 3, 2, 3, 2, 4):
        assert recorded(torch.zeros(size)).tolist() == [1.0] * size
    assert made == [torch.Size([2]), torch.Size([3])]
