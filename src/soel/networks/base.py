"""What every backbone offers: losses and embeddings for several members at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from soel.deep import Tensor, nn, torch

Pair = tuple[Tensor, Tensor]
UserModule = Callable[[Any], nn.Module]  # from the number of columns, or the shape (C, H, W) of arrays


class Backbone(nn.Module, ABC):
    """S members of one network, computed together.

    Every tensor starts with the member axis S; members never mix, so a member of a stack computes what
    it would compute alone. L0 is small when a row looks normal, L1 is its opposite, and L0 is the score.
    `last_layer` names the parameter whose gradients the gradient-diverse strategy looks at.
    `is_recordable`: whether a GPU may record a training step and replay it: nothing in it waits for the host.
    `version`: raised whenever the same rows and generators give another network.
    """

    version: ClassVar[int] = 1
    n_members: int
    last_layer: str
    is_recordable: bool = True

    @abstractmethod
    def losses(self, x: Tensor) -> Pair:
        """L0 and L1, each (S, B), of rows x: (S, B, d)."""

    def forward(self, x: Tensor) -> Pair:
        """The losses, for tools of torch that call a module."""
        return self.losses(x)

    def losses_apart(self, x: Tensor, sizes: Sequence[int]) -> list[Pair]:
        """L0 and L1 of each of the batches that x: (S, B, d) consists of; no batch's statistics see another's rows."""
        return [self.losses(batch) for batch in x.split(list(sizes), dim=1)]

    @abstractmethod
    def embed(self, x: Tensor) -> Tensor:
        """Embeddings (S, B, D) of rows x: (S, B, d)."""

    def prepare(self, pool: Tensor) -> None:
        """Look at the pool (S, N, d) once, before the warm-up and in eval mode."""


class Members(Backbone):
    """A user's own modules, one per member.

    Each module takes rows (B, d) and has `losses(x) -> (L0, L1)`, both (B,), and `embed(x) -> (B, D)`.
    shape: of the arrays that rows were before they were laid out flat; modules then take (B, *shape), and are made
    from the shape instead of d.
    """

    is_recordable = False  # their operations are unknown

    def __init__(
        self,
        n_features: int,
        rngs: Sequence[np.random.Generator],
        make: UserModule,
        shape: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.n_members, self.shape = len(rngs), tuple(shape)
        modules = []
        with torch.random.fork_rng(devices=[]):
            for rng in rngs:
                torch.manual_seed(int(rng.integers(2**62)))
                modules.append(make(self.shape or n_features))
        self.members = nn.ModuleList(modules)
        self.last_layer = f"members.0.{list(dict(modules[0].named_parameters()))[-1]}"  # the others are not asked

    def _pairs(self, x: Tensor) -> Iterator[tuple[Any, Tensor]]:
        """Each module, typed for methods of its own, with its rows of x: (S, B, d) in their own shape."""
        return zip(self.members, x.unflatten(-1, self.shape) if self.shape else x, strict=True)

    def losses(self, x: Tensor) -> Pair:
        """L0 and L1 of each member on its own rows."""
        pairs = [member.losses(rows) for member, rows in self._pairs(x)]
        return torch.stack([first for first, _ in pairs]), torch.stack([second for _, second in pairs])

    def embed(self, x: Tensor) -> Tensor:
        """Embeddings of each member on its own rows."""
        return torch.stack([member.embed(rows) for member, rows in self._pairs(x)])

    def prepare(self, pool: Tensor) -> None:
        """Pass the pool on to those modules that want to see it."""
        for member, rows in self._pairs(pool):
            if hasattr(member, "prepare"):
                member.prepare(rows)
