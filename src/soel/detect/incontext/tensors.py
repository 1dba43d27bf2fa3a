"""The functions of the network over torch's tensors, for a GPU and for pretraining. Each has a twin in `arrays`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

MOST_AT_ONCE = 60_000  # rows whose cells attend to one another in one call: a GPU takes 65,535

exp, log, sign, stack, where, minimum = torch.exp, torch.log, torch.sign, torch.stack, torch.where, torch.minimum
concat = torch.cat


def uniform(chance: torch.Generator, like: Tensor, *shape: int) -> Tensor:
    """Random numbers between 0 and 1, where `like` is."""
    return torch.rand(shape, generator=chance, device=chance.device).to(like.device)


def integers(chance: torch.Generator, like: Tensor, high: int, *shape: int) -> Tensor:
    """Random integers below `high`, where `like` is."""
    return torch.randint(0, high, shape, generator=chance, device=chance.device).to(like.device)


def in_blocks(compute: Callable[[slice], Any], n_rows: int) -> list[Any]:
    """All rows are one block: torch divides the work itself."""
    return [compute(slice(0, n_rows))]


def in_parts(compute: Callable[[slice], Any], n_rows: int, n_columns: int) -> list[Any]:
    """All rows at once, likewise."""
    return [compute(slice(0, n_rows))]


def floats(x: Tensor) -> Tensor:
    """As float32."""
    return x.float()


def whole(x: Tensor) -> Tensor:
    """As whole numbers, towards zero."""
    return x.long()


def as_precise(x: Tensor, other: Tensor) -> Tensor:
    """In the precision of the other."""
    return x.to(other.dtype)


def array(values: np.ndarray, like: Tensor) -> Tensor:
    """Numpy's values, where `like` is."""
    return torch.from_numpy(values).to(like.device)


def numpy(x: Tensor) -> np.ndarray:
    """As numpy's array."""
    return x.detach().cpu().numpy()


def arange(size: int, like: Tensor) -> Tensor:
    """The whole numbers below `size`, where `like` is."""
    return torch.arange(size, device=like.device)


def zeros(like: Tensor, *shape: int) -> Tensor:
    """Zeros in float32, where `like` is."""
    return torch.zeros(shape, device=like.device)


def std(x: Tensor, axis: int) -> Tensor:
    """Standard deviations, unbiased in square, the axis kept."""
    return x.std(axis, keepdim=True)


def sort(x: Tensor) -> Tensor:
    """Along the last axis."""
    return x.sort(-1).values.contiguous()


def amax(x: Tensor) -> Tensor:
    """The largest of the last axis."""
    return x.amax(-1)


def amin(x: Tensor) -> Tensor:
    """The smallest of the last axis."""
    return x.amin(-1)


def median(x: Tensor) -> Tensor:
    """The lower median of the last axis."""
    return x.median(-1).values


def smallest(x: Tensor, k: int) -> Tensor:
    """The k smallest values of the last axis, in order."""
    return x.topk(k, largest=False).values


def largest(x: Tensor, k: int) -> Tensor:
    """The k largest values of the last axis, in any order."""
    return x.topk(k).values


def search(ordered: Tensor, values: Tensor, right: bool = False) -> Tensor:
    """How many of the ordered values (B, d, N) lie below each value (B, d, n); right: below or at it."""
    return torch.searchsorted(ordered, values.contiguous(), right=right)


def normal_quantiles(ranks: Tensor) -> Tensor:
    """Of the standard normal variable."""
    found: Tensor = torch.special.ndtri(ranks)
    return found


def gather(table: Tensor, index: Tensor) -> Tensor:
    """Entries (..., n) of the tables (..., K) by their positions (..., n)."""
    return table.gather(-1, index)


def look_up(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Cells (B, R, n) of the rows (B, N, d): those in rows (B, R, n) or (n,) and columns (B, R, n)."""
    return x[torch.arange(len(x), device=x.device)[:, None, None], rows, columns]


def tally(index: Tensor, weights: Tensor, size: int) -> Tensor:
    """Sums (B, R, size) of weights (B, R, n), each added where its index (B, R, n) says."""
    sums = torch.zeros(*index.shape[:2], size, device=index.device)
    return sums.scatter_add_(2, index, weights.expand(index.shape))


def extremes(index: Tensor, values: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The smallest and largest (B, R, size) of the values (B, R, n) with each index (B, R, n); infinite for none."""
    shape = (*index.shape[:2], size)
    low = torch.full(shape, torch.inf, device=index.device).scatter_reduce(2, index, values, "amin")
    high = torch.full(shape, -torch.inf, device=index.device).scatter_reduce(2, index, values, "amax")
    return low, high


def inverse(x: Tensor) -> Tensor:
    """Of positive definite matrices."""
    return torch.cholesky_inverse(torch.linalg.cholesky_ex(x).L)


def none(flags: Tensor) -> bool:
    """Whether it is certain that no flag (B, N) is set: it is not, since asking would wait for a GPU."""
    return False


def those(flags: Tensor) -> Any:
    """Positions in the last axis that are worth a look: all, for the same reason."""
    return slice(None)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., in) to (..., out)."""
    return F.linear(x, weight, bias)


def normalise(x: Tensor) -> Tensor:
    """Rows of mean 0 and variance 1."""
    return F.layer_norm(x, x.shape[-1:])


gelu = F.gelu


def softmax(x: Tensor, axis: int) -> Tensor:
    """Shares along an axis."""
    return x.softmax(axis)


def mix_cells(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention of the cells of each row to one another: (R, h, d, e) to the same."""
    parts = zip(*(part.split(MOST_AT_ONCE) for part in (q, k, v)), strict=True)
    return torch.cat([F.scaled_dot_product_attention(*part) for part in parts])


def ready(keys: Tensor, values: Tensor) -> Tensor:
    """Values (B, h, N, e) as `attend` takes them: as wide as the keys, which fused attention wants."""
    return F.pad(values, (0, keys.shape[-1] - values.shape[-1]))


def lay_out_keys(keys: Tensor) -> Tensor:
    """Keys (B, h, N, e) as `attend` likes them: as they are."""
    return keys


def attend(q: Tensor, keys: Tensor, values: Tensor, width: int, hidden: Tensor | None) -> Tensor:
    """What rows (B, h, n, e) hear of the keys' rows (B, h, N, e): (B, n, h, width). hidden: (n, N) what they do not."""
    shown = None if hidden is None else ~hidden
    mixed = F.scaled_dot_product_attention(q.to(keys.dtype), keys, values, attn_mask=shown, scale=1.0)
    return mixed[..., :width].transpose(1, 2)


def gate(cells: Tensor, gates: Tensor) -> Tensor:
    """Sums (B, n, g, c) over columns of cells (B, n, d, c) times their gates (B, d, g, c)."""
    return torch.einsum("bndc,bdgc->bngc", cells, gates)


def halve_precision(x: Tensor) -> Tensor:
    """What half precision (bfloat16) would keep of values, so that they are exact there."""
    return x.to(torch.bfloat16).to(x.dtype)


def widen(own: Tensor, widths: Sequence[int]) -> Tensor:
    """Places (..., p) as wide as attention likes them: on a GPU of one of these widths, or four less than 8 n."""
    if not own.is_cuda:
        return own
    fits = next((size for size in widths if own.shape[-1] <= size), own.shape[-1] + (4 - own.shape[-1]) % 8)
    return F.pad(own, (0, fits - own.shape[-1]))
