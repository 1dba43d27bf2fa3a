"""The functions of `soel.detect.incontext.ops` for torch's tensors; what each does is said there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soel.deep import F, Tensor, torch
from soel.detect.incontext import ops

COORDINATE_WIDTHS = (
    12,
    28,
    60,
    124,
)  # on a GPU: attention is planned anew for every width, and wants multiples of eight
MOST_AT_ONCE = 60_000  # rows whose cells attend to one another in one call: a GPU takes 65,535

exp, log, sign, stack, where, minimum = torch.exp, torch.log, torch.sign, torch.stack, torch.where, torch.minimum
concat, gelu = torch.cat, F.gelu


def in_blocks(compute: Callable[[slice], Any], n_rows: int) -> list[Any]:
    return [compute(slice(0, n_rows))]  # torch divides the work itself


def each(compute: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    return [compute(part) for part in parts]


def in_parts(compute: Callable[[slice], Any], n_rows: int, n_columns: int) -> list[Any]:
    return [compute(slice(0, n_rows))]


def uniform(random: torch.Generator, like: Tensor, *shape: int) -> Tensor:
    return torch.rand(shape, generator=random, device=random.device).to(like.device)


def integers(random: torch.Generator, like: Tensor, high: int, *shape: int) -> Tensor:
    return torch.randint(0, high, shape, generator=random, device=random.device).to(like.device)


def array(values: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(values).to(like.device)


def arange(size: int, like: Tensor) -> Tensor:
    return torch.arange(size, device=like.device)


def zeros(like: Tensor, *shape: int) -> Tensor:
    return torch.zeros(shape, device=like.device)


def floats(x: Tensor) -> Tensor:
    return x.float()


def whole(x: Tensor) -> Tensor:
    return x.long()


def as_precise(x: Tensor, other: Tensor) -> Tensor:
    return x.to(other.dtype)


def halve_precision(x: Tensor) -> Tensor:
    return x.to(torch.bfloat16).to(x.dtype)


def std(x: Tensor, axis: int) -> Tensor:
    return x.std(axis, keepdim=True)


def sort(x: Tensor) -> Tensor:
    return x.sort(-1).values.contiguous()


def amax(x: Tensor) -> Tensor:
    return x.amax(-1)


def amin(x: Tensor) -> Tensor:
    return x.amin(-1)


def median(x: Tensor) -> Tensor:
    return x.median(-1).values


def smallest(x: Tensor, k: int) -> Tensor:
    return x.topk(k, largest=False).values


def largest(x: Tensor, k: int) -> Tensor:
    return x.topk(k).values


def search(ordered: Tensor, values: Tensor, right: bool = False) -> Tensor:
    return torch.searchsorted(ordered, values.contiguous(), right=right)


def normal_quantiles(ranks: Tensor) -> Tensor:
    return torch.special.ndtri(ranks)  # type: ignore[no-any-return]


def inverse(x: Tensor) -> Tensor:
    return torch.cholesky_inverse(torch.linalg.cholesky_ex(x).L)


def gather(table: Tensor, index: Tensor) -> Tensor:
    return table.gather(-1, index)


def take_cells(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return x[torch.arange(len(x), device=x.device)[:, None, None], rows, columns]


def tally(index: Tensor, weights: Tensor, size: int) -> Tensor:
    sums = torch.zeros(*index.shape[:2], size, device=index.device)
    return sums.scatter_add_(2, index, weights.expand(index.shape))


def extremes(index: Tensor, values: Tensor, size: int) -> tuple[Tensor, Tensor]:
    shape = (*index.shape[:2], size)
    low = torch.full(shape, torch.inf, device=index.device).scatter_reduce(2, index, values, "amin")
    high = torch.full(shape, -torch.inf, device=index.device).scatter_reduce(2, index, values, "amax")
    return low, high


def none(flags: Tensor) -> bool:
    return False  # to ask would wait for a GPU


def flagged(flags: Tensor) -> Any:
    return slice(None)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, weight, bias)


def normalise(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def softmax(x: Tensor, axis: int) -> Tensor:
    return x.softmax(axis)


def self_attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    parts = zip(*(part.split(MOST_AT_ONCE) for part in (q, k, v)), strict=True)
    return torch.cat([F.scaled_dot_product_attention(*part) for part in parts])


def cross_attend(q: Tensor, keys: Tensor, values: Tensor, width: int, masked: Tensor | None) -> Tensor:
    shown = None if masked is None else ~masked
    mixed = F.scaled_dot_product_attention(q.to(keys.dtype), keys, values, attn_mask=shown, scale=1.0)
    return mixed[..., :width].transpose(1, 2)


def lay_out_keys(keys: Tensor) -> Tensor:
    return keys


def lay_out_values(keys: Tensor, values: Tensor) -> Tensor:
    return F.pad(values, (0, keys.shape[-1] - values.shape[-1]))  # as wide as the keys: fused attention wants that


def gate(cells: Tensor, gates: Tensor) -> Tensor:
    return torch.einsum("bndc,bdgc->bngc", cells, gates)


def widen(coordinates: Tensor) -> Tensor:
    """On a GPU of one of these widths, or four less than a multiple of eight."""
    width = coordinates.shape[-1]
    if not coordinates.is_cuda:
        return coordinates
    fits = next((size for size in COORDINATE_WIDTHS if width <= size), width + (4 - width) % 8)
    return F.pad(coordinates, (0, fits - width))


ops.OTHERS[Tensor] = sys.modules[__name__]
