"""The functions of the network over numpy's arrays, all in float32. Each has a twin in `tensors`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from soel.distances import smallest as nearest_values
from soel.threads import parallel_map, single_threaded_blas

Values = NDArray[Any]

BLOCK_ROWS = 512  # that one thread computes at once, at most
WORTH_TWO = 256  # rows from which two threads share the work
CELLS_AT_ONCE = 4096  # whose vectors one thread computes at once, likewise
CHUNK = 2**15  # values that are bent at once
EPSILON = np.float32(1e-5)  # in the variance of a norm
# tanh(x p(x²)) is erf(x / sqrt 2) up to 6e-7 / x for |x| < 4.6, and beyond that both are 1 up to 5e-6
BEND = np.array(
    [7.97873143e-01, 3.63644006e-02, -5.70001895e-05, -4.74926019e-05, 2.82272053e-06, -5.74840743e-08], np.float32
)
FARTHEST_SQUARE = np.float32(4.6**2)

exp, log, sign, stack, where, minimum = np.exp, np.log, np.sign, np.stack, np.where, np.minimum
concat = np.concatenate


class Chance:
    """Random numbers as torch's generator on a CPU draws them: the trees of a seed are the same wherever they grow."""

    def __init__(self, seed: int) -> None:
        self._words = np.random.RandomState(seed)

    def uniform(self, *shape: int) -> Values:
        """Between 0 and 1."""
        return ((self._draw(shape) & np.uint32(2**24 - 1)) / np.float32(2**24)).astype(np.float32)

    def integers(self, high: int, *shape: int) -> Values:
        """Below `high`."""
        return (self._draw(shape) % np.uint32(high)).astype(np.int64)

    def normal(self, *shape: int) -> Values:
        """Of mean 0 and spread 1; at least 16."""
        values = self.uniform(int(np.prod(shape)))
        rest = len(values) % 16
        values[: len(values) - rest] = _bell(values[: len(values) - rest])
        if rest:
            values[-16:] = _bell(self.uniform(16))
        return values.reshape(shape)

    def _draw(self, shape: Sequence[int]) -> NDArray[np.uint32]:
        return self._words.randint(0, 2**32, size=tuple(shape), dtype=np.uint32)


def _bell(values: Values) -> Values:
    """Normal variables from as many between 0 and 1, in sixteens."""
    pairs = values.reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - pairs[:, 0])), np.float32(2 * np.pi) * pairs[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)


def uniform(chance: Chance, like: Values, *shape: int) -> Values:
    """Random numbers between 0 and 1, where `like` is."""
    return chance.uniform(*shape)


def integers(chance: Chance, like: Values, high: int, *shape: int) -> Values:
    """Random integers below `high`, where `like` is."""
    return chance.integers(high, *shape)


def in_blocks(compute: Callable[[slice], Any], n_rows: int) -> list[Any]:
    """What is computed of each block of rows, in order, each by one thread: never dependent on how many there are."""
    with single_threaded_blas():
        return parallel_map(compute, row_blocks(n_rows))


def in_parts(compute: Callable[[slice], Any], n_rows: int, n_columns: int) -> list[Any]:
    """What is computed of the cells of so many rows, one after the other: their vectors stay in the cache."""
    step = max(1, CELLS_AT_ONCE // n_columns)
    return [compute(slice(start, start + step)) for start in range(0, max(n_rows, 1), step)]


def row_blocks(n_rows: int) -> list[slice]:
    """Blocks of nearly equal size, an even number of them where there are enough rows."""
    n_blocks = -(-n_rows // BLOCK_ROWS)
    n_blocks += n_blocks % 2 if n_rows >= WORTH_TWO else 0
    cuts = [n_rows * block // n_blocks for block in range(n_blocks + 1)] if n_blocks else [0, 0]
    return [slice(start, end) for start, end in pairwise(cuts)]


def floats(x: Values) -> Values:
    """As float32."""
    return x.astype(np.float32)


def whole(x: Values) -> Values:
    """As whole numbers, towards zero."""
    return x.astype(np.int64)


def as_precise(x: Values, other: Values) -> Values:
    """In the precision of the other."""
    return x


def array(values: Values, like: Values) -> Values:
    """Numpy's values, where `like` is."""
    return values


def numpy(x: Values) -> Values:
    """As numpy's array."""
    return x


def arange(size: int, like: Values) -> Values:
    """The whole numbers below `size`, where `like` is."""
    return np.arange(size)


def zeros(like: Values, *shape: int) -> Values:
    """Zeros in float32, where `like` is."""
    return np.zeros(shape, np.float32)


def std(x: Values, axis: int) -> Values:
    """Standard deviations, unbiased in square, the axis kept."""
    return np.asarray(x.std(axis, ddof=1, keepdims=True))


def sort(x: Values) -> Values:
    """Along the last axis."""
    return np.sort(x, axis=-1)


def amax(x: Values) -> Values:
    """The largest of the last axis."""
    return np.asarray(x.max(-1))


def amin(x: Values) -> Values:
    """The smallest of the last axis."""
    return np.asarray(x.min(-1))


def median(x: Values) -> Values:
    """The lower median of the last axis."""
    middle = (x.shape[-1] - 1) // 2
    return np.asarray(np.partition(x, middle, axis=-1)[..., middle])


def smallest(x: Values, k: int) -> Values:
    """The k smallest values of the last axis, in order."""
    few = nearest_values(x.reshape(-1, x.shape[-1]), k).reshape(*x.shape[:-1], -1)
    return np.sort(few, axis=-1)[..., :k]


def largest(x: Values, k: int) -> Values:
    """The k largest values of the last axis, in any order."""
    return np.partition(x, x.shape[-1] - k, axis=-1)[..., x.shape[-1] - k :]


def search(ordered: Values, values: Values, right: bool = False) -> Values:
    """How many of the ordered values (B, d, N) lie below each value (B, d, n); right: below or at it."""
    found = np.empty(values.shape, np.int64)
    for at in np.ndindex(*values.shape[:-1]):
        found[at] = np.searchsorted(ordered[at], values[at], side="right" if right else "left")
    return found


def normal_quantiles(ranks: Values) -> Values:
    """Of the standard normal variable."""
    return np.asarray(ndtri(ranks), np.float32)


def gather(table: Values, index: Values) -> Values:
    """Entries (..., n) of the tables (..., K) by their positions (..., n)."""
    n_entries = table.shape[-1]
    base = np.arange(0, table.size, n_entries).reshape(*table.shape[:-1], 1)
    return np.take(table.reshape(-1), index + base)


def look_up(x: Values, rows: Values, columns: Values) -> Values:
    """Cells (B, R, n) of the rows (B, N, d): those in rows (B, R, n) or (n,) and columns (B, R, n)."""
    n_tasks, n_rows, width = x.shape
    first = np.arange(0, n_tasks * n_rows, n_rows).reshape(n_tasks, 1, 1)
    return np.asarray(np.take(np.ascontiguousarray(x).reshape(-1), (first + rows) * width + columns))


def tally(index: Values, weights: Values, size: int) -> Values:
    """Sums (B, R, size) of weights (B, R, n), each added where its index (B, R, n) says."""
    n_tables = index.shape[0] * index.shape[1]
    at = index.reshape(n_tables, -1) + size * np.arange(n_tables)[:, None]
    sums = np.bincount(at.reshape(-1), np.broadcast_to(weights, index.shape).reshape(-1), n_tables * size)
    return sums.reshape(*index.shape[:2], size).astype(np.float32)


def extremes(index: Values, values: Values, size: int) -> tuple[Values, Values]:
    """The smallest and largest (B, R, size) of the values (B, R, n) with each index (B, R, n); infinite for none."""
    n_tables = index.shape[0] * index.shape[1]
    at = (index.reshape(n_tables, -1) + size * np.arange(n_tables)[:, None]).reshape(-1)
    low, high = np.full(n_tables * size, np.inf, np.float32), np.full(n_tables * size, -np.inf, np.float32)
    np.minimum.at(low, at, values.reshape(-1))
    np.maximum.at(high, at, values.reshape(-1))
    shape = (*index.shape[:2], size)
    return low.reshape(shape), high.reshape(shape)


def inverse(x: Values) -> Values:
    """Of positive definite matrices."""
    return np.linalg.inv(x.astype(np.float64)).astype(np.float32)


def none(flags: Values) -> bool:
    """Whether it is certain that no flag (B, N) is set."""
    return not flags.any()


def those(flags: Values) -> Any:
    """Positions in the last axis that are worth a look: those that are flagged in some task."""
    return np.flatnonzero(flags.any(0))


def linear(x: Values, weight: Values, bias: Values | None = None) -> Values:
    """(..., in) to (..., out)."""
    y = x.reshape(-1, x.shape[-1]) @ weight.T
    if bias is not None:
        y += bias
    return y.reshape(*x.shape[:-1], len(weight))


def normalise(x: Values) -> Values:
    """Rows of mean 0 and variance 1."""
    width = np.float32(x.shape[-1])
    y = x - (np.einsum("...i->...", x) / width)[..., None]
    y *= (1 / np.sqrt(np.einsum("...i,...i->...", y, y) / width + EPSILON))[..., None]
    return np.asarray(y)


def gelu(x: Values) -> Values:
    """X times the chance that a standard normal variable is below x; x itself is overwritten."""
    flat = x.reshape(-1)
    for start in range(0, len(flat), CHUNK):
        part = flat[start : start + CHUNK]
        square = part * part
        np.minimum(square, FARTHEST_SQUARE, out=square)
        bent = square * BEND[-1]
        for factor in BEND[-2:0:-1]:
            bent += factor
            bent *= square
        bent += BEND[0]
        bent *= part
        np.tanh(bent, out=bent)
        bent += np.float32(1)
        part *= np.float32(0.5)
        part *= bent
    return flat.reshape(x.shape)


def softmax(x: Values, axis: int) -> Values:
    """Shares along an axis."""
    y = np.exp(x - x.max(axis, keepdims=True))
    y /= y.sum(axis, keepdims=True)
    return np.asarray(y)


def mix_cells(q: Values, k: Values, v: Values) -> Values:
    """Attention of the cells of each row to one another: (R, h, d, e) to the same."""
    shares = (q * np.float32(q.shape[-1] ** -0.5)) @ k.swapaxes(2, 3)
    shares -= shares.max(-1, keepdims=True)
    np.exp(shares, out=shares)
    mixed = shares @ v
    mixed /= np.einsum("...i->...", shares)[..., None]
    return mixed


def ready(keys: Values, values: Values) -> Values:
    """Values (B, h, N, e) as `attend` takes them: with a column of ones, so that their product adds up the shares."""
    return np.concatenate([values, np.ones((*values.shape[:-1], 1), np.float32)], -1)


def lay_out_keys(keys: Values) -> Values:
    """Keys (B, h, N, e) as `attend` is quickest with for a few rows: those of one column side by side in memory."""
    return np.ascontiguousarray(keys.swapaxes(2, 3)).swapaxes(2, 3)


def attend(q: Values, keys: Values, values: Values, width: int, hidden: Values | None) -> Values:
    """What rows (B, h, n, e) hear of the keys' rows (B, h, N, e): (B, n, h, width). hidden: (n, N) what they do not."""
    n_tasks, n_heads, n_rows, _ = q.shape
    mixed = np.empty((n_tasks, n_rows, n_heads, width), np.float32)
    scores = np.empty((n_rows, keys.shape[2]), np.float32)
    apart = None if hidden is None else np.nonzero(hidden)  # few: a mask would be slower
    for task in range(n_tasks):
        for head in range(n_heads):
            np.matmul(q[task, head], keys[task, head].T, out=scores)
            if apart is not None:
                scores[apart] = -np.inf
            scores -= scores.max(1, keepdims=True)
            np.exp(scores, out=scores)
            heard = scores @ values[task, head]
            np.divide(heard[:, :width], heard[:, width:], out=mixed[task, :, head])
    return mixed


def gate(cells: Values, gates: Values) -> Values:
    """Sums (B, n, g, c) over columns of cells (B, n, d, c) times their gates (B, d, g, c)."""
    sums = np.empty((*cells.shape[:2], gates.shape[2], cells.shape[3]), np.float32)
    for number in range(gates.shape[2]):
        np.einsum("bndc,bdc->bnc", cells, gates[:, :, number], out=sums[:, :, number])
    return sums


def halve_precision(x: Values) -> Values:
    """What half precision (bfloat16) would keep of values, so that they are exact there."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def widen(own: Values, widths: Sequence[int]) -> Values:
    """Places (..., p) as wide as attention likes them: as they are."""
    return own
