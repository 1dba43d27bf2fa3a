"""The array functions that the network is written with, for numpy, all in float32.

An `Array` is numpy's or torch's. What both libraries call alike is used as it is (operators, `mean`, `clip`,
`swapaxes`, indices); this module holds what differs. `ops_of(x)` is the module for an array: this one for numpy, and in
training `pretraining.torch_ops`, which registers itself for tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.special import ndtri

from soel.numeric import parallel_map, single_threaded_blas, smallest as nearest_values

Array: TypeAlias = Any
Thing = TypeVar("Thing")

BLOCK_ROWS = 512  # that one thread computes at once, at most
WORTH_TWO = 256  # rows from which two threads share the work
CELLS_AT_ONCE = 4096  # whose embeddings one thread computes at once: they stay in the cache
CHUNK = 2**15  # values of which GELU is computed at once, likewise
EPSILON = np.float32(1e-5)  # in the variance of a norm
# tanh(x p(x²)) is erf(x / sqrt 2) up to 6e-7 / x for |x| < 4.6, and beyond that both are 1 up to 5e-6
ERF_COEFFICIENTS = np.array(
    [7.97873143e-01, 3.63644006e-02, -5.70001895e-05, -4.74926019e-05, 2.82272053e-06, -5.74840743e-08], np.float32
)
FARTHEST_SQUARE = np.float32(4.6**2)

OTHERS: dict[type, ModuleType] = {}  # by the type of their arrays

exp, log, sign, stack, where, minimum, concat = np.exp, np.log, np.sign, np.stack, np.where, np.minimum, np.concatenate


def ops_of(x: Array) -> ModuleType:
    """The functions for arrays like this one."""
    if isinstance(x, np.ndarray):
        return sys.modules[__name__]
    return next(module for kind, module in OTHERS.items() if isinstance(x, kind))


def in_blocks(compute: Callable[[slice], Any], n_rows: int) -> list[Any]:
    """What is computed of each block of rows, in order, each by one thread: independent of how many there are."""
    return each(compute, row_blocks(n_rows))


def each(compute: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """What is computed of each part, in order, each by one thread."""
    with single_threaded_blas():
        return parallel_map(compute, parts)


def row_blocks(n_rows: int) -> list[slice]:
    """Blocks of nearly equal size, an even number of them where there are enough rows."""
    n_blocks = -(-n_rows // BLOCK_ROWS)
    n_blocks += n_blocks % 2 if n_rows >= WORTH_TWO else 0
    cuts = [n_rows * block // n_blocks for block in range(n_blocks + 1)] if n_blocks else [0, 0]
    return [slice(start, end) for start, end in pairwise(cuts)]


def in_parts(compute: Callable[[slice], Any], n_rows: int, n_columns: int) -> list[Any]:
    """What is computed of the cells of so many rows, in order, CELLS_AT_ONCE at a time."""
    step = max(1, CELLS_AT_ONCE // n_columns)
    return [compute(slice(start, start + step)) for start in range(0, max(n_rows, 1), step)]


# Arrays of a kind, where `like` is


def uniform(random: np.random.RandomState, like: Array, *shape: int) -> Array:
    """Random numbers between 0 and 1; the legacy generator, whose numbers no release of numpy changes."""
    return random.random_sample(shape).astype(np.float32)


def integers(random: np.random.RandomState, like: Array, high: int, *shape: int) -> Array:
    """Random integers below `high`."""
    return random.randint(0, high, shape, np.int64)


def array(values: np.ndarray, like: Array) -> Array:
    """Numpy's values as such an array."""
    return values


def arange(size: int, like: Array) -> Array:
    """The whole numbers below `size`."""
    return np.arange(size)


def zeros(like: Array, *shape: int) -> Array:
    """Zeros in float32."""
    return np.zeros(shape, np.float32)


def floats(x: Array) -> Array:
    """As float32."""
    return x.astype(np.float32)


def whole(x: Array) -> Array:
    """As whole numbers, towards zero."""
    return x.astype(np.int64)


def as_precise(x: Array, other: Array) -> Array:
    """In the precision of the other."""
    return x


def halve_precision(x: Array) -> Array:
    """What half precision (bfloat16) would keep of values, so that they are exact there."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


# Statistics


def std(x: Array, axis: int) -> Array:
    """Standard deviations, unbiased in square, the axis kept."""
    return x.std(axis, ddof=1, keepdims=True)


def sort(x: Array) -> Array:
    """Along the last axis."""
    return np.sort(x, axis=-1)


def amax(x: Array) -> Array:
    """The largest of the last axis."""
    return x.max(-1)


def amin(x: Array) -> Array:
    """The smallest of the last axis."""
    return x.min(-1)


def median(x: Array) -> Array:
    """The lower median of the last axis."""
    middle = (x.shape[-1] - 1) // 2
    return np.partition(x, middle, axis=-1)[..., middle]


def smallest(x: Array, k: int) -> Array:
    """The k smallest values of the last axis, in order."""
    few = nearest_values(x.reshape(-1, x.shape[-1]), k).reshape(*x.shape[:-1], -1)
    return np.sort(few, axis=-1)[..., :k]


def largest(x: Array, k: int) -> Array:
    """The k largest values of the last axis, in any order."""
    return np.partition(x, x.shape[-1] - k, axis=-1)[..., x.shape[-1] - k :]


def search(ordered: Array, values: Array, right: bool = False) -> Array:
    """How many of the ordered values (B, d, N) lie below each value (B, d, n); right: below or at it."""
    found = np.empty(values.shape, np.int64)
    for at in np.ndindex(*values.shape[:-1]):
        found[at] = np.searchsorted(ordered[at], values[at], side="right" if right else "left")
    return found


def normal_quantiles(ranks: Array) -> Array:
    """Of the standard normal variable."""
    return np.asarray(ndtri(ranks), np.float32)


def inverse(x: Array) -> Array:
    """Of positive definite matrices."""
    return np.linalg.inv(x.astype(np.float64)).astype(np.float32)


# Tables


def gather(table: Array, index: Array) -> Array:
    """Entries (..., n) of the tables (..., K) by their positions (..., n)."""
    n_entries = table.shape[-1]
    base = np.arange(0, table.size, n_entries).reshape(*table.shape[:-1], 1)
    return np.take(table.reshape(-1), index + base)


def take_cells(x: Array, rows: Array, columns: Array) -> Array:
    """Cells (B, R, n) of the rows (B, N, d): those in rows (B, R, n) or (n,) and columns (B, R, n)."""
    n_tasks, n_rows, width = x.shape
    first = np.arange(0, n_tasks * n_rows, n_rows).reshape(n_tasks, 1, 1)
    return np.take(np.ascontiguousarray(x).reshape(-1), (first + rows) * width + columns)


def tally(index: Array, weights: Array, size: int) -> Array:
    """Sums (B, R, size) of weights (B, R, n), each added where its index (B, R, n) says."""
    n_tables = index.shape[0] * index.shape[1]
    at = index.reshape(n_tables, -1) + size * np.arange(n_tables)[:, None]
    sums = np.bincount(at.reshape(-1), np.broadcast_to(weights, index.shape).reshape(-1), n_tables * size)
    return sums.reshape(*index.shape[:2], size).astype(np.float32)


def extremes(index: Array, values: Array, size: int) -> tuple[Array, Array]:
    """The smallest and largest (B, R, size) of the values (B, R, n) with each index (B, R, n); infinite for none."""
    n_tables = index.shape[0] * index.shape[1]
    at = (index.reshape(n_tables, -1) + size * np.arange(n_tables)[:, None]).reshape(-1)
    low, high = np.full(n_tables * size, np.inf, np.float32), np.full(n_tables * size, -np.inf, np.float32)
    np.minimum.at(low, at, values.reshape(-1))
    np.maximum.at(high, at, values.reshape(-1))
    shape = (*index.shape[:2], size)
    return low.reshape(shape), high.reshape(shape)


def none(flags: Array) -> bool:
    """Whether it is certain that no flag (B, N) is set."""
    return not flags.any()


def flagged(flags: Array) -> Any:
    """Positions in the last axis that are flagged in some task, or all where to ask would wait for a GPU."""
    return np.flatnonzero(flags.any(0))


# Layers


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """(..., in) to (..., out)."""
    y = x.reshape(-1, x.shape[-1]) @ weight.T
    if bias is not None:
        y += bias
    return y.reshape(*x.shape[:-1], len(weight))


def normalise(x: Array) -> Array:
    """Layer norm without parameters: mean 0 and variance 1 along the last axis."""
    width = np.float32(x.shape[-1])
    y = x - (np.einsum("...i->...", x) / width)[..., None]
    y *= (1 / np.sqrt(np.einsum("...i,...i->...", y, y) / width + EPSILON))[..., None]
    return y


def gelu(x: Array) -> Array:
    """GELU, x Phi(x), by a polynomial in the tanh; x itself is overwritten."""
    flat = x.reshape(-1)
    for start in range(0, len(flat), CHUNK):
        part = flat[start : start + CHUNK]
        square = np.minimum(part * part, FARTHEST_SQUARE)
        y = square * ERF_COEFFICIENTS[-1]
        for factor in ERF_COEFFICIENTS[-2:0:-1]:
            y += factor
            y *= square
        y += ERF_COEFFICIENTS[0]
        y *= part
        np.tanh(y, out=y)
        y += np.float32(1)
        part *= np.float32(0.5)
        part *= y
    return flat.reshape(x.shape)


def softmax(x: Array, axis: int) -> Array:
    """Shares along an axis."""
    y = np.exp(x - x.max(axis, keepdims=True))
    y /= y.sum(axis, keepdims=True)
    return y


def self_attend(q: Array, k: Array, v: Array) -> Array:
    """Attention of the cells of each row to one another: (R, h, d, e) to the same."""
    weights = (q * np.float32(q.shape[-1] ** -0.5)) @ k.swapaxes(2, 3)
    weights -= weights.max(-1, keepdims=True)
    np.exp(weights, out=weights)
    mixed = weights @ v
    mixed /= np.einsum("...i->...", weights)[..., None]
    return mixed


def cross_attend(q: Array, keys: Array, values: Array, width: int, masked: Array | None) -> Array:
    """Attention of rows (B, h, n, e) to the keys (B, h, N, e): (B, n, h, width). masked: (n, N) what each leaves out.

    Keys and values are laid out by `lay_out_keys` and `lay_out_values`.
    """
    n_tasks, n_heads, n_rows, _ = q.shape
    mixed = np.empty((n_tasks, n_rows, n_heads, width), np.float32)
    scores = np.empty((n_rows, keys.shape[2]), np.float32)
    apart = None if masked is None else np.nonzero(masked)  # few: a mask would be slower
    for task in range(n_tasks):
        for head in range(n_heads):
            np.matmul(q[task, head], keys[task, head].T, out=scores)
            if apart is not None:
                scores[apart] = -np.inf
            scores -= scores.max(1, keepdims=True)
            np.exp(scores, out=scores)
            summed = scores @ values[task, head]
            np.divide(summed[:, :width], summed[:, width:], out=mixed[task, :, head])
    return mixed


def lay_out_keys(keys: Array) -> Array:
    """Keys (B, h, N, e) with those of one column side by side in memory, which is quickest for a few rows."""
    return np.ascontiguousarray(keys.swapaxes(2, 3)).swapaxes(2, 3)


def lay_out_values(keys: Array, values: Array) -> Array:
    """Values (B, h, N, e) with a column of ones, so that their product adds up the weights."""
    return np.concatenate([values, np.ones((*values.shape[:-1], 1), np.float32)], -1)


def gate(cells: Array, gates: Array) -> Array:
    """Sums (B, n, g, c) over columns of cells (B, n, d, c) times their gates (B, d, g, c)."""
    sums = np.empty((*cells.shape[:2], gates.shape[2], cells.shape[3]), np.float32)
    for number in range(gates.shape[2]):
        np.einsum("bndc,bdc->bnc", cells, gates[:, :, number], out=sums[:, :, number])
    return sums


def widen(coordinates: Array) -> Array:
    """Coordinates (..., p) as wide as attention on a GPU wants them: here as they are."""
    return coordinates
