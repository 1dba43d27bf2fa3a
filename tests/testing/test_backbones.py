"""The backbones' kit finds out backbones that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from soel.networks.base import Pair
from soel.networks.others import Autoencoder
from soel.testing import BACKBONE_LAWS, backbones, check_backbone
from soel.testing.laws import Law
from tests.testing.broken import cases

Rngs = Sequence[np.random.Generator]


class Constant(Autoencoder):
    def losses(self, x: Tensor) -> Pair:
        l0, l1 = super().losses(x)
        return l0 * 0 + l0.mean(), l1 * 0 + l1.mean()


class Agreeing(Autoencoder):
    """Both losses pull the same way."""

    def losses(self, x: Tensor) -> Pair:
        l0, _ = super().losses(x)
        return l0, 2 * l0


class Collapsed(Autoencoder):
    def embed(self, x: Tensor) -> Tensor:
        return super().embed(x) * 0


class Detached(Autoencoder):
    """A weight that nothing depends on."""

    def __init__(self, n_features: int, rngs: Rngs) -> None:
        super().__init__(n_features, rngs)
        self.spare = nn.Parameter(torch.ones(len(rngs), 3))

    def losses(self, x: Tensor) -> Pair:
        l0, l1 = super().losses(x)
        return l0 + 0 * self.spare.sum(), l1


class Mixing(Autoencoder):
    """The members' mean instead of each one's own."""

    def losses(self, x: Tensor) -> Pair:
        l0, l1 = super().losses(x)
        return (l0 + l0.mean(dim=0)) / 2, l1


class Meeting(Autoencoder):
    """Rows are compared with those that happen to stand beside them."""

    def losses(self, x: Tensor) -> Pair:
        l0, l1 = super().losses(x)
        return l0 - l0.mean(dim=1, keepdim=True) * 0.5, l1


class Counting(Autoencoder):
    """Statistics that a single row changes."""

    def __init__(self, n_features: int, rngs: Rngs) -> None:
        super().__init__(n_features, rngs)
        self.register_buffer("seen", torch.zeros(len(rngs)))
        self.seen: Tensor

    def losses(self, x: Tensor) -> Pair:
        if self.training:
            self.seen += 1
        return super().losses(x)


class OneNorm(Autoencoder):
    """All batches of a pass share their statistics."""

    def losses_apart(self, x: Tensor, sizes: Sequence[int]) -> list[Pair]:
        l0, l1 = self.losses(x)
        return list(zip(l0.split(list(sizes), 1), l1.split(list(sizes), 1), strict=True))


class GlobalChance(Autoencoder):
    def __init__(self, n_features: int, rngs: Rngs) -> None:
        super().__init__(n_features, rngs)
        with torch.no_grad():
            self.encoder.linears[0].weight.add_(torch.randn(1))  # type: ignore[operator]


class OffTheBooks(Autoencoder):
    """Something learnt from the pool that the state dict does not hold."""

    scale = 1.0

    def prepare(self, pool: Tensor) -> None:
        self.scale = float(pool.std())

    def losses(self, x: Tensor) -> Pair:
        l0, l1 = super().losses(x)
        return l0 * self.scale, l1


class Misnamed(Autoencoder):
    def __init__(self, n_features: int, rngs: Rngs) -> None:
        super().__init__(n_features, rngs)
        self.last_layer = "head.weight"


class Frozen(Autoencoder):
    """A backward pass that somebody has commented out."""

    def losses(self, x: Tensor) -> Pair:
        with torch.no_grad():
            l0, l1 = super().losses(x)
        nothing = sum(parameter.sum() for parameter in self.parameters()) * 0
        return l0 + nothing, l1 + nothing


BROKEN: dict[Law[Any], type[Autoencoder]] = {
    backbones.check_losses_are_one_number_a_row_and_member: Constant,
    backbones.check_losses_oppose_one_another: Agreeing,
    backbones.check_embeddings_tell_rows_apart: Collapsed,
    backbones.check_gradients_reach_every_parameter: Detached,
    backbones.check_members_never_mix: Mixing,
    backbones.check_rows_do_not_meet_after_training: Meeting,
    backbones.check_single_rows_leave_the_statistics: Counting,
    backbones.check_batches_are_normed_apart: OneNorm,
    backbones.check_seeding_is_idempotent: GlobalChance,
    backbones.check_state_is_the_whole_backbone: OffTheBooks,
    backbones.check_last_layer_is_a_parameter: Misnamed,
    backbones.check_training_beats_no_training: Frozen,
}


@pytest.mark.parametrize(("law", "broken"), cases(BACKBONE_LAWS, BROKEN))
def test_each_law_finds_out_a_backbone_that_breaks_it(law: Law[Any], broken: type[Autoencoder]) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        law(broken)


def test_the_kit_names_every_broken_law() -> None:
    with pytest.raises(AssertionError, match=r"(?s)1 of 12 laws.*check_last_layer_is_a_parameter: .*'head.weight'"):
        check_backbone(Misnamed)
