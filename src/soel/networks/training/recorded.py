"""Steps on a GPU without Python: its kernels are recorded once and then replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Shape = tuple[torch.Size, ...]


class Recorded:
    """A computation that is recorded once for each shape of its inputs and then replayed on new values.

    The first call of a shape is computed as it is, since libraries set themselves up in it; the second is recorded.
    Whatever else the computation reads must stay where it is in memory.
    """

    def __init__(self, compute: Callable[..., Tensor], recording: type[Recording] | None = None) -> None:
        self._compute, self._recording = compute, recording or Recording
        self._seen: dict[Shape, Recording | None] = {}

    def __call__(self, *inputs: Tensor) -> Tensor:
        """What the computation gives."""
        shape = tuple(tensor.shape for tensor in inputs)
        if shape not in self._seen:
            self._seen[shape] = None
            return self._compute(*inputs)
        recording = self._seen[shape] = self._seen[shape] or self._recording(self._compute, inputs)
        return recording.replay(inputs)


class Recording:
    """The kernels of one call, with the places of its inputs and of its output."""

    def __init__(self, compute: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> None:
        self._inputs = [tensor.clone() for tensor in inputs]
        self._graph: Any = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._output = compute(*self._inputs)

    def replay(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Compute again, with these inputs."""
        for place, tensor in zip(self._inputs, inputs, strict=True):
            place.copy_(tensor)
        self._graph.replay()
        return self._output.clone()
