"""What can be said of rows beside a pool before anybody has labelled one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from soel.detectors.pretrained.forest import Forest

CLIP = 4.0  # in standard deviations: one wild value must not decide alone
N_CELL, N_COLUMN, N_SCORES = 10, 8, 16  # widths of what is said of a cell, a column and a row
NEIGHBOURS, NEIGHBOUR_SHARE = 5, 0.03
DROPPED_SHARE = 0.1  # the most isolated rows are no reference for what is normal
RIDGES = (0.1, 0.003)  # added to the covariance, as shares of the mean variance
FAR, TINY = 1e9, 1e-3
LARGEST_SCORE = 5.0


@dataclass(frozen=True)
class Described:
    """Rows beside the pool: n rows of d columns, N of them in the pool."""

    z: Tensor  # (B, n, d) standardised values
    g: Tensor  # (B, n, d) Gaussian ranks
    cells: Tensor  # (B, n, d, N_CELL)
    scores: Tensor  # (B, n, N_SCORES) in standard deviations over the pool
    distances: Tensor  # (2, B, n, N) to the pool's rows by z and by g
    nodes: Tensor  # (B, R, n, DEPTH + 1) of the forest

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Of the parts."""
        return tuple(cls.__dataclass_fields__)

    def first(self, n_rows: int) -> Described:
        """The first rows alone."""
        rows = slice(0, n_rows)
        z, g, cells, scores = (part[:, rows] for part in (self.z, self.g, self.cells, self.scores))
        return Described(z, g, cells, scores, self.distances[:, :, rows], self.nodes[:, :, rows])

    def followed_by(self, other: Described) -> Described:
        """These rows and then others."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in self.names())
        axes = {"distances": 2, "nodes": 2}
        return Described(**{name: torch.cat([one, two], axes.get(name, 1)) for name, one, two in pairs})


@dataclass(frozen=True)
class Origin:
    """The s rows (B, n, s, d) that each of n was put together from, and where in the pool (n, s, N) these are."""

    rows: Tensor
    same: Tensor

    @property
    def hidden(self) -> Tensor:
        """Which rows of the pool (n, N) are no company for each."""
        return self.same.any(1)


@dataclass(frozen=True)
class Reference:
    """B pools of N rows and d columns, and all that is computed of them once."""

    mean: Tensor  # (B, 1, d)
    deviation: Tensor  # (B, 1, d)
    ordered: Tensor  # (B, d, N) standardised values, unclipped, in order
    z: Tensor  # (B, N, d)
    g: Tensor  # (B, N, d)
    precisions: tuple[Tensor, ...]  # (B, d, d) for each ridge
    forest: Forest
    columns: Tensor  # (B, d, N_COLUMN)
    kth: Tensor  # (B, N) distance to the tenth neighbour
    dropped: Tensor  # (B, N) whether a row is too isolated to be a reference
    middle: Tensor  # (B, 1, N_SCORES)
    spread: Tensor  # (B, 1, N_SCORES)
    scale: Tensor  # (B,) a typical distance to the neighbours, as a share of that to any row

    @classmethod
    def fit(cls, pool: Tensor, random: torch.Generator) -> tuple[Reference, Described]:
        """From pools (B, N, d); also what is said of the pools' own rows."""
        mean, deviation = pool.mean(1, keepdim=True), pool.std(1, keepdim=True)
        deviation = torch.where(deviation > 1e-6 * (1 + mean.abs()), deviation, 1.0)
        raw = (pool - mean) / deviation
        z = raw.clamp(-CLIP, CLIP)
        ordered = raw.transpose(1, 2).sort(-1).values.contiguous()
        low, high = _places(ordered, raw, own=True)
        g = _gaussian_rank(low, high, pool.shape[1] - 1)
        precisions = _precisions(z)
        columns = _columns(ordered, z, g, precisions[0])
        nothing = torch.zeros(0, device=pool.device)
        blank = cls(
            mean, deviation, ordered, z, g, precisions, Forest.grow(z, random), columns, *[nothing] * 5
        )  # the rest needs distances
        return blank._complete(raw)

    def _complete(self, raw: Tensor) -> tuple[Reference, Described]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        parts = self._parts(raw, own=True)
        near = parts["near"]
        fields["kth"] = near[..., _kth(near)]
        n_dropped = int(DROPPED_SHARE * raw.shape[1])
        border = near.mean(-1).topk(max(n_dropped, 1), dim=1).values[:, -1:]
        fields["dropped"] = (near.mean(-1) >= border) & (n_dropped > 0)
        pairs = parts["distances"][0].square().mean((1, 2)).sqrt()
        fields["scale"] = near.mean(-1).median(1).values / (pairs + TINY)
        whole = Reference(**fields)
        scores = whole._scores(parts)
        fields["middle"], fields["spread"] = scores.mean(1, keepdim=True), scores.std(1, keepdim=True) + 1e-6
        whole = Reference(**fields)
        return whole, whole._described(parts, scores)

    def describe(self, rows: Tensor, origin: Origin | None = None) -> Described:
        """What is said of other rows (B, n, d). origin: what they were made of, which is no company for them."""
        parts = self._parts((rows - self.mean) / self.deviation, own=False, origin=origin)
        return self._described(parts, self._scores(parts))

    def _described(self, parts: dict[str, Tensor], scores: Tensor) -> Described:
        scores = ((scores - self.middle) / self.spread).clamp(-LARGEST_SCORE, LARGEST_SCORE)
        return Described(parts["z"], parts["g"], parts["cells"], scores, parts["distances"], parts["nodes"])

    def _parts(self, raw: Tensor, own: bool, origin: Origin | None = None) -> dict[str, Tensor]:
        z = raw.clamp(-CLIP, CLIP)
        n_pool = self.z.shape[1]
        n_others = n_pool - int(own)
        low, high = _places(self.ordered, raw, own)
        if origin is not None:
            low, high = self._without(origin, raw, low, high)
        g = self.g if own else _gaussian_rank(low, high, n_others)
        surprise = (z @ self.precisions[0]) / self.precisions[0].diagonal(dim1=1, dim2=2).sqrt()[:, None]
        cells = _cells(self.ordered, z, g, low, high, n_others, surprise)
        distances = torch.stack([_distances(z, self.z), _distances(g, self.g)])
        if origin is not None:
            distances = distances.masked_fill(origin.hidden, FAR)
        others = distances.clone() if own else distances
        if own:
            others.diagonal(dim1=2, dim2=3).fill_(FAR)
        n_near = min(max(10, math.ceil(NEIGHBOUR_SHARE * n_pool)), n_others)
        near, which = others[0].topk(n_near, largest=False)
        near_g = others[1].topk(min(NEIGHBOURS, n_others), largest=False).values
        parts = {"z": z, "g": g, "cells": cells, "distances": distances, "surprise": surprise}
        return parts | {
            "near": near,
            "which": which,
            "near_g": near_g,
            "others": others[0],
            "nodes": self.forest.nodes(z),
        }

    def _without(self, origin: Origin, raw: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """The counts (B, d, n) of cells below and not above, without those that the rows were made of."""
        now = raw.transpose(1, 2)
        for rows, same in zip(origin.rows.unbind(2), origin.same.unbind(1), strict=True):
            were, n_hidden = ((rows - self.mean) / self.deviation).transpose(1, 2), same.sum(1)
            low, high = low - n_hidden * (were < now), high - n_hidden * (were <= now)
        return low, high

    def _scores(self, parts: dict[str, Tensor]) -> Tensor:
        """Label-free scores (B, n, N_SCORES), higher is more anomalous, in units of their own."""
        near, z, cells = parts["near"], parts["z"], parts["cells"]
        n_rows = z.shape[1]
        five = near[..., :NEIGHBOURS].mean(-1)
        ten = parts["which"][..., : _kth(near) + 1]
        theirs = self.kth[:, None].expand(-1, n_rows, -1).gather(2, ten).mean(-1)
        kept = parts["others"].masked_fill(self.dropped[:, None], FAR)
        cleaned = kept.topk(min(NEIGHBOURS, kept.shape[-1] - 1), largest=False).values.clamp_max(1e3).mean(-1)
        tails, surprise = cells[..., 6], parts["surprise"].abs()
        n_top = min(3, z.shape[2])
        scores = [
            (five + TINY).log(),
            (near.mean(-1) + TINY).log(),
            ((near[..., _kth(near)] + TINY) / (theirs + TINY)).log(),
            (cleaned + TINY).log(),
            (parts["near_g"].mean(-1) + TINY).log(),
            *[0.5 * (((z @ p) * z).sum(-1).clamp_min(0) + TINY).log() for p in self.precisions],
            (z.square().sum(-1) + TINY).log(),
            (parts["g"].square().sum(-1) + TINY).log(),
            tails.mean(-1),
            tails.topk(n_top, dim=-1).values.mean(-1),
            surprise.mean(-1),
            surprise.amax(-1),
            cells[..., 4].mean(-1),
            -cells[..., 5].mean(-1),
            -self.forest.isolation(parts["nodes"]),
        ]
        return torch.stack(scores, -1)


def _kth(near: Tensor) -> int:
    return min(9, near.shape[-1] - 1)


def _places(ordered: Tensor, raw: Tensor, own: bool) -> tuple[Tensor, Tensor]:
    """How many other rows of the pool lie below, and not above, each cell: two (B, d, n)."""
    values = raw.transpose(1, 2).contiguous()
    low = torch.searchsorted(ordered, values)
    high = torch.searchsorted(ordered, values, right=True) - int(own)
    return low, high


def _gaussian_rank(low: Tensor, high: Tensor, n_others: int) -> Tensor:
    """Ranks as Gaussian quantiles (B, n, d)."""
    rank = (0.5 * (low + high) + 0.5) / (n_others + 1)
    lowest = 0.5 / (n_others + 1)
    quantiles: Tensor = torch.special.ndtri(rank.clamp(lowest, 1 - lowest))
    return quantiles.transpose(1, 2).contiguous()


def _cells(ordered: Tensor, z: Tensor, g: Tensor, low: Tensor, high: Tensor, n_others: int, surprise: Tensor) -> Tensor:
    """What is said of each cell (B, n, d, N_CELL): its value, its rank, its tail, how full its surroundings are."""
    n_pool = ordered.shape[-1]
    step = max(2, n_pool // 20)
    before = ordered.gather(2, (low - step).clamp(0, n_pool - 1))
    after = ordered.gather(2, (high + step).clamp(0, n_pool - 1))
    gap = (after - before + TINY).log().clamp(-7, 4).transpose(1, 2)
    ties = ((high - low + 1) / (n_others + 1)).log().transpose(1, 2)
    rank = ((0.5 * (low + high) + 0.5) / (n_others + 1)).transpose(1, 2)
    tail = -torch.minimum(rank, 1 - rank).clamp(0.5 / (n_others + 1), 0.5).log()
    surprise = surprise.clamp(-2 * CLIP, 2 * CLIP)
    return torch.stack(
        [z, g, 2 * rank - 1, (2 * rank - 1).abs(), gap, ties / 3, tail, z.abs(), surprise, surprise.abs()], -1
    )


def _columns(ordered: Tensor, z: Tensor, g: Tensor, precision: Tensor) -> Tensor:
    """What is said of each column (B, d, N_COLUMN): how discrete, skewed and heavy it is, and how bound to others."""
    n_pool = z.shape[1]
    fresh = (ordered[..., 1:] != ordered[..., :-1]).float()
    distinct = 1 + fresh.sum(-1)
    runs = torch.searchsorted(ordered, ordered, right=True) - torch.searchsorted(ordered, ordered)
    mode = runs.amax(-1) / n_pool
    skew, heavy = z.pow(3).mean(1), z.pow(4).mean(1)
    correlation = (g.transpose(1, 2) @ g) / n_pool
    correlation = correlation - torch.diag_embed(correlation.diagonal(dim1=1, dim2=2))
    alone = 1 / (precision.diagonal(dim1=1, dim2=2) + TINY)
    return torch.stack(
        [
            distinct.log() / math.log(n_pool),
            (distinct <= 2).float(),
            (distinct <= 20).float(),
            mode,
            skew.sign() * (1 + skew.abs()).log(),
            (1 + heavy).log(),
            correlation.abs().amax(-1),
            alone.clamp(0, 2),
        ],
        -1,
    )


def _precisions(z: Tensor) -> tuple[Tensor, ...]:
    """Inverse covariances (B, d, d) of standardised rows, one for each ridge."""
    n_pool, width = z.shape[1:]
    centred = z - z.mean(1, keepdim=True)
    covariance = centred.transpose(1, 2) @ centred / n_pool
    eye = torch.eye(width, device=z.device)
    mean = covariance.diagonal(dim1=1, dim2=2).mean(1).clamp_min(1e-3)[:, None, None]
    return tuple(
        torch.cholesky_inverse(torch.linalg.cholesky_ex(covariance + ridge * mean * eye).L) for ridge in RIDGES
    )


def _distances(x: Tensor, pool: Tensor) -> Tensor:
    """Euclidean distances (B, n, N), per root of the number of columns."""
    squared = x.square().sum(-1)[..., None] + pool.square().sum(-1)[:, None] - 2 * x @ pool.transpose(1, 2)
    return (squared.clamp_min(0) / x.shape[-1]).sqrt()
