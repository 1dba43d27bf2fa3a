"""Gaussians side by side, one at each place of a picture. Patches are (n, P, D): D values at each of P places.

Blocks of places are computed in parallel; callers keep the matrix library to one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soel.numeric import parallel_map
from soel.types import Booleans, Floats, Rows

RIDGE = 0.01  # added to every covariance, as a share of the mean variance
MOST_CELLS = 2048  # covariances; of more places, runs of neighbours share one
HIGHEST_LEVERAGE = 0.99  # that one picture can have on its own distance
BLOCK, ROWS = 64, 256  # places, and pictures, that are computed at once
TINY = 1e-12


@dataclass(frozen=True)
class Moments:
    """Of n pictures: means (P, D), and the mean products (C, D, D) of their arms around `means` in each cell."""

    means: Floats
    products: Floats
    n: int

    @classmethod
    def of(cls, x: Floats, rows: Rows, around: Floats | None = None) -> Moments:
        """From the patches of these rows. around: (P, D) what arms start from, None for their own mean."""
        n_places, width = x.shape[1:]
        run = run_length(n_places)
        means = np.zeros((n_places, width), np.float32)
        products = np.zeros((-(-n_places // run), width, width), np.float32)

        def compute(at: slice) -> None:
            values = np.concatenate([_by_place(x, part, at) for part in _parts(rows)], axis=1)  # (p, n, D)
            means[at] = values.mean(axis=1)
            arms = values - (means if around is None else around)[at, None]
            for start in range(0, len(arms), run):
                cell = arms[start : start + run].reshape(-1, width)
                products[(at.start + start) // run] = cell.T @ cell / len(cell)

        for_each_block(n_places, compute, run)
        return cls(means, products, len(rows))

    def without(self, x: Floats, rows: Rows) -> Moments:
        """As if these of its rows had not been there; the others are not read again."""
        if not len(rows):
            return self
        gone, left = Moments.of(x, rows, self.means), self.n - len(rows)
        shift = (self.means - gone.means) * (gone.n / left)  # (P, D) of the means
        products = (self.n * self.products - gone.n * gone.products) / left
        run = run_length(len(shift))
        for cell in range(len(products)):
            own = shift[cell * run : (cell + 1) * run]
            products[cell] -= own.T @ own / len(own)
        return Moments(self.means + shift, products, left)


@dataclass(frozen=True)
class Gaussians:
    """w = S (x - m) has the same spread in every direction; |w| is Mahalanobis' distance.

    means: (P, D). whitenings: (C, D, D), lower triangular, of one place or of a run of neighbours each. leverage: the
    weight of one of the n_fitted pictures in the covariance of a place.
    """

    means: Floats
    whitenings: Floats
    leverage: float
    n_fitted: int

    @classmethod
    def of(cls, moments: Moments) -> Gaussians:
        """A cell's own covariance counts n / (n + D) beside that of all, n the patches that it was computed from."""
        n_places, width = moments.means.shape
        run = run_length(n_places)
        own = moments.n * run / (moments.n * run + width)
        shared = moments.products.mean(axis=0)
        ridge = (RIDGE * np.trace(shared) / width + TINY) * np.eye(width)
        whitenings = np.empty_like(moments.products)

        def compute(at: slice) -> None:
            lower = np.linalg.cholesky(own * moments.products[at] + (1 - own) * shared + ridge)
            whitenings[at] = np.linalg.inv(lower)

        for_each_block(len(whitenings), compute)
        leverage = (own / run + (1 - own) / n_places) / max(moments.n - 1, 1)
        return cls(moments.means, whitenings, leverage, moments.n)

    def arms(self, x: Floats, places: Rows) -> Floats:
        """Whitened arms (k, D) of patches (k, D) at these places (k,)."""
        centred = x.astype(np.float32) - self.means[places]
        return np.asarray(np.einsum("kij,kj->ki", self.whitenings[places // run_length(len(self.means))], centred))

    def measure(
        self,
        x: Floats,
        rows: Rows,
        is_fitted: Booleans | None = None,
        factor: Callable[[Floats], Floats] | None = None,
    ) -> Floats:
        """Distances (n, P) of the patches of these rows.

        is_fitted: (n,) of them, whose distances are those from a fit without them. factor: what a distance is
        multiplied by, by the direction (..., D) of the patch's whitened arm.
        """
        n_places, run = x.shape[1], run_length(x.shape[1])
        found = np.empty((len(rows), n_places), np.float32)

        def compute(at: slice) -> None:
            cells = np.repeat(np.arange(at.start // run, -(-at.stop // run)), run)[: at.stop - at.start]
            turned, done = self.whitenings[cells].transpose(0, 2, 1), 0
            for part in _parts(rows):
                arms = (_by_place(x, part, at) - self.means[at, None]) @ turned  # (p, n, D)
                lengths, part_of = np.linalg.norm(arms, axis=2), slice(done, done + len(part))
                own = lengths if is_fitted is None else np.where(is_fitted[part_of], self.left_out(lengths), lengths)
                found[part_of, at] = own.T
                if factor is not None:
                    found[part_of, at] *= factor(arms / np.maximum(lengths, TINY)[..., None]).T
                done += len(part)

        for_each_block(n_places, compute, run)
        return found

    def left_out(self, found: Floats) -> Floats:
        """Distances of fitted rows as they would be if each row had been left out of the fit."""
        shift = self.n_fitted / max(self.n_fitted - 1, 1)
        squares = found.astype(np.float64) ** 2
        rest = 1 - np.minimum(self.leverage * squares, HIGHEST_LEVERAGE)
        return np.asarray(np.sqrt(shift * squares / rest), np.float32)


def run_length(n_places: int) -> int:
    """How many neighbours along a row of places share a covariance."""
    return -(-n_places // MOST_CELLS)


def for_each_block(n: int, compute: Callable[[slice], None], step: int = 1) -> None:
    """Calls `compute` with slices of about BLOCK of n, in whole steps, in parallel."""
    size = max(BLOCK // step, 1) * step
    parallel_map(compute, [slice(start, min(start + size, n)) for start in range(0, n, size)])


def _by_place(x: Floats, rows: Rows, at: slice) -> Floats:
    """Patches (p, n, D) of some places."""
    return np.ascontiguousarray(x[rows, at].transpose(1, 0, 2), np.float32)


def _parts(rows: Rows) -> list[Rows]:
    return [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)]
