"""The parameters of the network in training: how they are named and start."""

from __future__ import annotations

import torch
from torch import nn

from soel.detect.incontext.label_features import N_LABEL_FEATURES, N_POOL_FEATURES
from soel.detect.incontext.named_columns import N_OF_COLUMN, N_OF_ROW
from soel.detect.incontext.network import N_SHARE_BINS, InContextNetwork, Shape
from soel.detect.incontext.row_features import N_CELL, N_COLUMN, N_SCORES


class Module(nn.Module):
    """Holds the parameters; `network` computes with them."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, width, cell = shape, shape.width, shape.cell_width
        self.cells, self.columns = _cells(shape), _columns(shape)
        self.enter = nn.Linear(cell + shape.n_gates * cell + N_SCORES + N_LABEL_FEATURES + N_POOL_FEATURES, 2 * width)
        self.mix = nn.Linear(2 * width, width)
        self.label = nn.Linear(2, width, bias=False)
        self.blocks = nn.ModuleList(_block(shape) for _ in range(shape.n_layers))
        self.wide, self.narrow = nn.Linear(width, width), nn.Linear(width, 2)
        self.named = _named(shape)
        self.share = nn.Sequential(nn.Linear(width + N_POOL_FEATURES, width), nn.GELU(), nn.Linear(width, N_SHARE_BINS))

    @property
    def network(self) -> InContextNetwork:
        """The network with the parameters as they are now."""
        return InContextNetwork(self.shape, dict(self.named_parameters()))


def _named(shape: Shape) -> nn.ModuleDict:
    """Names say nothing at first."""
    width, cell = shape.width, shape.cell_width
    parts = {
        "columns": nn.Linear(N_OF_COLUMN + cell, 2 * cell, bias=False),
        "rows": nn.Linear(N_OF_ROW, 2 * width, bias=False),
        "cells": nn.Linear(2 * cell, width, bias=False),
    }
    for part in parts.values():
        nn.init.zeros_(part.weight)
    return nn.ModuleDict(parts)


def _cell_block(width: int) -> nn.ModuleDict:
    return nn.ModuleDict(
        {
            "qkv": nn.Linear(width, 3 * width),
            "out": nn.Linear(width, width),
            "wide": nn.Linear(width, 2 * width),
            "narrow": nn.Linear(2 * width, width),
        }
    )


def _cells(shape: Shape) -> nn.ModuleDict:
    width = shape.cell_width
    return nn.ModuleDict(
        {
            "of_cell": nn.Linear(N_CELL, width),
            "of_column": nn.Linear(N_COLUMN, width),
            "mix": nn.Linear(width, width),
            "blocks": nn.ModuleList(_cell_block(width) for _ in range(shape.n_cell_layers)),
            "gather": nn.Linear(width, 2 * width),
        }
    )


def _columns(shape: Shape) -> nn.ModuleDict:
    width = shape.cell_width
    weights = nn.Linear(width, shape.n_heads)
    nn.init.normal_(weights.weight, std=0.02)
    nn.init.zeros_(weights.bias)
    return nn.ModuleDict(
        {
            "enter": nn.Linear(3 * width + N_COLUMN + N_POOL_FEATURES, 2 * width),
            "mix": nn.Linear(2 * width, width),
            "block": _cell_block(width),
            "gates": nn.Linear(width, shape.n_gates * width),
            "weights": weights,
        }
    )


def _block(shape: Shape) -> nn.ModuleDict:
    """At first half of the heads look from widely to narrowly, half of each kind at labelled rows above all."""
    width, half = shape.width, shape.n_heads // 2
    look = nn.Linear(width, 3 * shape.n_heads)
    with torch.no_grad():
        look.weight.mul_(0.1)
        narrowly, at_labels = (
            torch.linspace(-1.0, 3.0, half).repeat(2),
            torch.tensor([0.0, 4.0]).repeat_interleave(half),
        )
        look.bias.copy_(torch.cat([narrowly, at_labels, torch.zeros(shape.n_heads)]))
    return nn.ModuleDict(
        {
            "query": nn.Linear(width, width),
            "key_value": nn.Linear(width, 2 * width),
            "out": nn.Linear(width, width),
            "look": look,
            "wide": nn.Linear(width, 3 * width),
            "narrow": nn.Linear(3 * width, width),
        }
    )
