"""A context as the network reads it with its labels, and what it then says of other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from soel.detectors.pretrained.context import keys
from soel.detectors.pretrained.network import Outputs, Seen
from soel.detectors.pretrained.passes import read_pool, read_rows
from soel.detectors.pretrained.reference import CLIP, Described, Origin, Reference
from soel.detectors.pretrained.views import MOST_GROUPS
from soel.detectors.pretrained.weights import trained_network
from soel.types import UNLABELLED, Floats, Labels

BLOCK_ROWS = 1000
FEWEST_FREE = 10  # unlabelled rows from which the unit of scores can be told


@dataclass(frozen=True)
class Context:
    """Rows (m, d) that stand for a pool, the views (v, d, p) of a wide one, and what else decides how they are read."""

    values: Floats
    views: Floats
    seed: int
    weights: int  # their version


class View:
    """A context that the network has read with its labels: all its columns, a group of them, or its axes (d, p)."""

    def __init__(self, rows: Context, labels: Labels, matrix: Floats | None) -> None:
        self.network = trained_network(rows.weights)
        self.matrix = None if matrix is None else np.ascontiguousarray(matrix[:, matrix.any(axis=0)])
        self.labels = torch.from_numpy(labels.astype(np.int64))[None]
        context = self.narrow(rows.values)
        with torch.no_grad():
            self.reference, self.pool, seen = _before_labels(context.tobytes(), context.shape, rows.seed, rows.weights)
            self.memory, self.outputs = read_pool(self.network, self.reference, self.pool, seen, self.labels)
        logits = self.outputs.logits[0].numpy()
        free = labels == UNLABELLED
        usual = logits[free] if free.sum() >= FEWEST_FREE else logits
        self.middle, self.spread = float(usual.mean()), float(max(usual.std(), 1e-2))

    def read(self, x: Floats, sources: Floats | None = None, same: np.ndarray | None = None) -> Outputs:
        """What the network says of rows (n, d). sources: (n, s, d) what they were put together from; same: (n, s, m)
        where these are in the context.
        """
        origin = None
        if sources is not None and same is not None:
            narrow = self.narrow(sources.reshape(-1, sources.shape[2])).reshape(*sources.shape[:2], -1)
            origin = Origin(torch.from_numpy(narrow)[None], torch.from_numpy(same))
        rows = self.reference.describe(torch.from_numpy(self.narrow(x))[None], origin)
        hidden = None if origin is None else origin.hidden
        seen = self.network.cells(rows.cells, self.reference.columns)
        return read_rows(self.network, self.reference, self.pool, self.labels, self.memory, rows, seen, hidden)

    def logits(self, outputs: Outputs) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        return np.asarray((outputs.logits[0].numpy() - self.middle) / self.spread)

    def narrow(self, x: Floats) -> Floats:
        """Rows (n, d) as this view has them."""
        return np.ascontiguousarray(x if self.matrix is None else x @ self.matrix, np.float32)


class Reading:
    """What the views say together: the first counts half where there are several, the others the other half."""

    def __init__(self, rows: Context, labels: Labels) -> None:
        self.views = [View(rows, labels, view) for view in rows.views] or [View(rows, labels, None)]
        n_others = len(self.views) - 1
        self.weights = np.array([0.5, *[0.5 / n_others] * n_others] if n_others else [1.0], np.float32)
        self.keys = own = keys(rows.values)
        order = np.argsort(own, kind="stable")
        self.own, first, counts = np.unique(own[order], return_index=True, return_counts=True)
        self._groups = (order, first, counts)

    def logits(self, x: Floats) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        return self._of_each(x, lambda view, outputs: view.logits(outputs))

    def changed_logits(self, x: Floats, sources: Floats) -> Floats:
        """The same of rows that were put together from others (n, s, d): the context is read without these."""
        values = np.empty(len(x))
        for start in range(0, len(x), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            same = self._find(sources[rows])
            n_apart = same.sum(axis=(1, 2)).max(initial=0)
            apart = (sources[rows], same) if 0 < n_apart < same.shape[2] else ()
            with torch.no_grad():
                values[rows] = self._together([view.logits(view.read(x[rows], *apart)) for view in self.views])
        return values

    def _find(self, sources: Floats) -> np.ndarray:
        """Where (n, s, m) in the context rows (n, s, d) are.

        Of equal rows one is meant: the others are company, as they are for a row of the context itself.
        """
        theirs = keys(sources.reshape(-1, sources.shape[2])).reshape(sources.shape[:2])
        order, first, _ = self._groups
        at = np.minimum(np.searchsorted(self.own, theirs), len(self.own) - 1)
        same = np.zeros((*theirs.shape, len(order)), bool)
        row, source = np.nonzero(self.own[at] == theirs)
        same[row, source, order[first[at[row, source]]]] = True
        same[:, 1:] &= ~np.logical_or.accumulate(same, axis=1)[:, :-1]  # each row of the context is left out once
        return same

    def context_logits(self) -> Floats:
        """The scores (m,) of the context's own rows."""
        return self._together([view.logits(view.outputs) for view in self.views])

    def log_odds(self, x: Floats) -> Floats:
        """Log odds (n,) of being an anomaly."""
        return self._of_each(x, lambda _, outputs: np.asarray(outputs.chances[0].numpy()))

    def states(self, x: Floats) -> Floats:
        """Last states (n, w)."""
        return self._of_each(x, lambda _, outputs: np.asarray(outputs.states[0].numpy()))

    def shares(self) -> Floats:
        """The probability (b,) of each bin of shares."""
        outputs = [view.outputs.shares for view in self.views]
        each = [shares[0].softmax(-1).numpy() for shares in outputs if shares is not None]
        return np.asarray(self.weights @ np.stack(each))

    def points(self, x: Floats) -> Floats:
        """Standardised rows (n, p) of the first view."""
        view = self.views[0]
        z = (torch.from_numpy(view.narrow(x)) - view.reference.mean[0]) / view.reference.deviation[0]
        return np.asarray(z.clamp(-CLIP, CLIP).numpy())

    def _of_each(self, x: Floats, of: Callable[[View, Outputs], Floats]) -> Floats:
        """What is read of rows (n, d), or known of them already where they are of the context."""
        order, first, counts = self._groups
        context = self._together([of(view, view.outputs) for view in self.views])
        known = np.add.reduceat(context[order], first, axis=0) / counts.reshape(-1, *[1] * (context.ndim - 1))
        key = keys(x)
        at = np.minimum(np.searchsorted(self.own, key), len(self.own) - 1)
        is_own = self.own[at] == key
        values = np.empty((len(x), *context.shape[1:]), np.float64)
        values[is_own] = known[at[is_own]]
        others = np.flatnonzero(~is_own)
        for start in range(0, len(others), BLOCK_ROWS):
            rows = others[start : start + BLOCK_ROWS]
            with torch.no_grad():
                values[rows] = self._together([of(view, view.read(x[rows])) for view in self.views])
        return values

    def _together(self, each: list[Floats]) -> Floats:
        return np.asarray(np.tensordot(self.weights, np.stack(each), 1))


@lru_cache(maxsize=2 * (1 + MOST_GROUPS))
def _before_labels(
    context: bytes, shape: tuple[int, int], seed: int, weights: int
) -> tuple[Reference, Described, Seen]:
    """What needs no label, kept for the next answer: the context stays the same when one of its rows is labelled."""
    rows = torch.from_numpy(np.frombuffer(context, np.float32).reshape(shape).copy())
    reference, pool = Reference.fit(rows[None], torch.Generator().manual_seed(seed))
    return reference, pool, trained_network(weights).cells(pool.cells, reference.columns)
