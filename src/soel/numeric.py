"""Numbers by the block: work side by side on all cores, distances in O(N) memory, random bits of a row, last results.

Distances by products, as a matrix library is fast at: `blocks`, `nearest`, `mean_of_nearest` and `nearest_of`, from
many rows to a bounded set of others, block by block; `pairs`, of all rows of two small sets. By differences, exact
wherever the rows lie: `squares_to`, of all rows to one point, and what is made of it. The ways round differently, so
none can take another's place without changing the last bits of scores.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache, wraps
from hashlib import blake2b
from itertools import repeat
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from soel.types import Floats, Rows

Given = TypeVar("Given")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


def n_cores() -> int:
    """The cores this process may use: those it is bound to, or fewer where OMP_NUM_THREADS says so."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(bound, int(wanted)) if wanted.isdecimal() and int(wanted) else bound


def parallel_map(
    compute: Callable[[Given], Result], parts: Sequence[Given], prepare: Callable[[], object] | None = None
) -> list[Result]:
    """The results in order, each part computed by one thread. prepare: what a thread does first.

    For work that lets go of the interpreter (numpy, torch); a part's result cannot depend on the number of threads.
    """
    n_threads = min(n_cores(), len(parts))
    if n_threads < 2:
        return [compute(part) for part in parts]
    with ThreadPoolExecutor(n_threads, initializer=prepare) as pool:
        return list(pool.map(compute, parts))


def in_order(
    compute: Callable[[Given], Result], given: Iterable[Given], n_threads: int, n_ahead: int
) -> Generator[Result]:
    """The results one after the other, up to `n_ahead` of them computed before they are asked for."""
    items, waiting = iter(given), deque[Future[Result]]()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while True:
                while len(waiting) < n_ahead:
                    try:
                        waiting.append(pool.submit(compute, next(items)))
                    except StopIteration:
                        break
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def ahead(items: Iterable[Given], depth: int = 2) -> Iterator[Given]:
    """The same items in the same order, up to `depth` of them made in advance; what goes wrong is raised here."""
    source, end = iter(items), object()
    with closing(in_order(lambda _: next(source, end), repeat(None), 1, depth)) as coming:
        for item in coming:
            if item is end:
                return
            yield item  # type: ignore[misc]


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run BLAS in one thread meanwhile: blocks are computed in parallel instead.

    The setting is the process's; it is put back when the last of those who wanted it is done. A library that is loaded
    while one of them is inside is limited for those that enter later.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


class _Limit:
    """How many callers are inside, and the limits to restore."""

    def __init__(self) -> None:
        self._lock, self._n_inside = Lock(), 0
        self._held: dict[bool, Any] = {}

    def enter(self) -> None:
        with self._lock:
            with_scipy = "scipy.linalg.blas" in sys.modules
            if with_scipy not in self._held:
                self._held[with_scipy] = _matrix_libraries(with_scipy).limit(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            while self._held and not self._n_inside:
                self._held.popitem()[1].restore_original_limits()


_LIMIT = _Limit()


@cache
def _matrix_libraries(with_scipy: bool) -> ThreadpoolController:
    """Those that are loaded: looking for them takes milliseconds. with_scipy: whether its own is among them by now."""
    return ThreadpoolController()


# Distances

BLOCK_ROWS = 512
RIDGE, SMALLEST_RIDGE = 0.1, 1e-6  # added to a covariance: as a share of its mean variance, and at least
MOST_AT_ONCE = 2**24  # distances, where the nearest of many others is looked for


def blocks(x: Floats, others: Floats) -> Iterator[tuple[slice, Floats]]:
    """Euclidean distances (b, m) of blocks of rows x: (n, d) to others: (m, d)."""
    target = _Target(others)
    for start in range(0, len(x), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        yield block, _take_roots(target.less_own(x[block]), x[block])


def nearest(x: Floats, others: Floats) -> Floats:
    """Distance (n,) to the nearest of the others; infinite where there are none."""
    closest = np.full(len(x), np.inf, np.result_type(x, others))
    if not len(others):
        return closest
    target = _Target(others)

    def measure(block: slice) -> None:
        least = target.less_own(x[block]).min(axis=1, keepdims=True)
        closest[block] = _take_roots(least, x[block])[:, 0]

    _for_each_block(len(x), measure)
    return closest


def nearest_of(x: Floats, others: Floats) -> tuple[Rows, Floats]:
    """Which of the others is nearest to each row (n,), and the squared distance to it."""
    owner, squares, target = np.empty(len(x), np.int64), np.empty(len(x)), _Target(others)
    own = np.einsum("ij,ij->i", x, x)
    step = max(1, MOST_AT_ONCE // len(others))
    for start in range(0, len(x), step):
        block = slice(start, start + step)
        squared = target.less_own(x[block])
        owner[block] = squared.argmin(axis=1)
        least = np.take_along_axis(squared, owner[block, None], axis=1)[:, 0]
        squares[block] = np.maximum(least + own[block], 0)
    return owner, squares


def mean_of_nearest(x: Floats, others: Floats, n_neighbours: int, own: Rows | None = None) -> Floats:
    """Mean distance (n,) to the nearest `n_neighbours` of the others.

    own: (n,) the position among the others of the row itself, which does not count; -1 where it is not there.
    """
    n_neighbours = max(1, min(n_neighbours, len(others) - (own is not None)))
    means, target = np.empty(len(x), np.float32), _Target(others)

    def measure(block: slice) -> None:
        squared = target.less_own(x[block])
        if own is not None:
            rows = np.flatnonzero(own[block] >= 0)
            squared[rows, own[block][rows]] = np.inf
        distances = _take_roots(smallest(squared, n_neighbours), x[block])
        finite = np.isfinite(distances)
        means[block] = np.where(finite, distances, 0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)

    _for_each_block(len(x), measure)
    return means


def smallest(values: Floats, k: int) -> Floats:
    """The k smallest values (b, k) of each row (b, m), in any order.

    k values at least are no larger than the minima of k groups: only values up to the k-th such minimum are searched.
    """
    n_rows, width = values.shape
    size = min(16, int(np.sqrt(width / k)) * 2)  # of a group; measured to be near the best
    n_groups = width // max(size, 1)
    if size < 2 or n_groups <= k:
        return values if k >= width else np.partition(values, k - 1, axis=1)[:, :k]
    groups = values[:, : size * n_groups].reshape(n_rows, size, n_groups)
    border = np.partition(groups.min(axis=1), k - 1, axis=1)[:, k - 1]
    at = np.flatnonzero(values <= border[:, None])
    row = at // width
    counts = np.bincount(row, minlength=n_rows)
    candidates = np.full((n_rows, counts.max()), np.inf, values.dtype)
    candidates[row, np.arange(len(at)) - (np.cumsum(counts) - counts)[row]] = values.reshape(-1)[at]
    return np.partition(candidates, k - 1, axis=1)[:, :k]


def pairs(a: Floats, b: Floats) -> Floats:
    """Distances (n, m) between all rows of two sets, of which one must be small."""
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.sqrt(np.maximum(squared, 0)))


def squares_to(x: Floats, point: Floats) -> Floats:
    """Squared distances (n,) of rows to a point (d,), by differences."""
    squares = np.empty(len(x), np.result_type(x, point))
    for start in range(0, len(x), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        squares[block] = np.square(x[block] - point).sum(axis=1)
    return squares


def nearest_exactly(x: Floats, points: Floats) -> tuple[Rows, Floats]:
    """Which of a few points (k, d) is nearest to each row (n,), and the squared distance to it, by differences.

    Of equals the first; infinite where there are none.
    """
    owner, closest = np.zeros(len(x), np.int64), np.full(len(x), np.inf, np.result_type(x, points))
    for index, point in enumerate(points):
        away = squares_to(x, point)
        nearer = away < closest
        owner[nearer], closest[nearer] = index, away[nearer]
    return owner, closest


class _Target:
    """Others (m, d) made ready: the squared distance to them is their square, less two products, plus one's own."""

    def __init__(self, others: Floats) -> None:
        self._doubled = np.ascontiguousarray(-2 * others.T)
        self._squares = np.einsum("ij,ij->i", others, others)

    def less_own(self, x: Floats) -> Floats:
        """Squared distances (b, m) of rows (b, d), without the rows' own squares: their order is the same."""
        squared = x @ self._doubled
        squared += self._squares
        return np.asarray(squared)


def _take_roots(less_own: Floats, x: Floats) -> Floats:
    less_own += np.einsum("ij,ij->i", x, x)[:, None]
    return np.asarray(np.sqrt(np.maximum(less_own, 0, out=less_own), out=less_own))


def _for_each_block(n_rows: int, measure: Callable[[slice], None]) -> None:
    """Measure all blocks, each on one core; the matrix library must then not start threads of its own."""
    parts = [slice(start, start + BLOCK_ROWS) for start in range(0, n_rows, BLOCK_ROWS)]
    with single_threaded_blas():
        parallel_map(measure, parts)


def unit(x: Floats) -> Floats:
    """Rows (n, d) at length 1; a row of zeros stays as it is."""
    x = np.asarray(x, np.float32)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1))


def gaussian(x: Floats) -> tuple[Floats, Floats]:
    """Centre (d,) of rows (n, d), and a matrix (d, d) that makes their covariance one."""
    covariance = np.atleast_2d(np.cov(x.T.astype(np.float64)))
    width = len(covariance)
    ridge = RIDGE * np.trace(covariance) / width + SMALLEST_RIDGE
    return x.mean(axis=0), np.linalg.cholesky(np.linalg.inv(covariance + ridge * np.eye(width)))


def mahalanobis(x: Floats, centre: Floats, whitening: Floats) -> Floats:
    """Distances (n,) of rows from the centre, in units of the spread in their direction."""
    white = (x - centre) @ whitening
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", white, white)))


# Random bits that belong to a seed, a draw and a row, however the rows are sharded

Bits = NDArray[np.uint64]
BITS = 52  # random bits behind a value of the noise
UNIT = 2.0**-BITS
STEP = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64, from one number to the next
MIXING = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
LAST_SHIFT = np.uint64(31)


def gumbel(seed: int, draw: int, rows: np.ndarray) -> Floats:
    """Gumbel noise (n,) for these rows in this draw; the same row always gets the same noise."""
    return noise(random_bits(seed, draw, rows))


def random_bits(seed: int, draw: int, rows: np.ndarray) -> Bits:
    """52 random bits for each row."""
    bits = rows.astype(np.uint64, copy=False) * STEP
    bits += _key(seed, draw)
    _mix(bits)
    bits >>= np.uint64(64 - BITS)
    return bits


@lru_cache(maxsize=8)
def _key(seed: int, draw: int) -> np.uint64:
    """The random bits that a draw's rows have in common."""
    key = np.array([draw], np.uint64) + STEP
    _mix(key)
    key += np.uint64(seed)
    _mix(key)
    return np.uint64(key[0])


def uniform(bits: Bits | np.uint64) -> Floats:
    """The bits as numbers between 0 and 1."""
    values = np.asarray(bits.astype(np.float64))
    values += 0.5
    values *= UNIT  # in (0, 1), never rounded to 0 or 1
    return values


def noise(bits: Bits) -> Floats:
    """The bits as Gumbel noise."""
    values = uniform(bits)
    for _ in range(2):  # -log(-log(u)), in place: it is drawn for every row of a pool, again and again
        np.negative(np.log(values, out=values), out=values)
    return values


def _mix(x: Bits) -> None:
    """The finaliser of splitmix64, in place: every output bit depends on every input bit."""
    shifted = np.empty_like(x)
    for shift, factor in MIXING:
        x ^= np.right_shift(x, shift, out=shifted)
        x *= factor
    x ^= np.right_shift(x, LAST_SHIFT, out=shifted)


_KEPT: list[OrderedDict[Any, Any]] = []
_LOCK = Lock()


def remember(n_kept: int) -> Callable[[Function], Function]:
    """A function that keeps its last results; arrays are told by what they hold, and are not kept themselves."""

    def decorate(compute: Function) -> Function:
        kept: OrderedDict[Any, Any] = OrderedDict()
        _KEPT.append(kept)

        @wraps(compute)
        def remembered(*given: Any) -> Any:
            key = tuple(map(_content, given))
            with _LOCK:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
            result = compute(*given)
            with _LOCK:
                kept[key] = result
                if len(kept) > n_kept:
                    kept.popitem(last=False)
            return result

        return remembered  # type: ignore[return-value]

    return decorate


def forget() -> None:
    """Let go of all results."""
    with _LOCK:
        for kept in _KEPT:
            kept.clear()


def _content(given: Any) -> Any:
    if isinstance(given, np.ndarray):
        return given.shape, given.dtype.str, blake2b(np.ascontiguousarray(given).data).digest()
    if is_dataclass(given):
        return tuple(_content(getattr(given, each.name)) for each in fields(given))
    return given


def spread_rows(n_rows: int, most: int) -> Rows:
    """At most so many positions below `n_rows`, evenly spaced."""
    return np.unique(np.linspace(0, n_rows - 1, most if n_rows else 0).astype(np.int64))
