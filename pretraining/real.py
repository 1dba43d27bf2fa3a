"""Tasks cut from real tables: one column decides which rows are anomalies, or anomalies are planted in real rows.

All tables lie on the device as one array, so that a batch of tasks from many tables is a few gathers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pretraining import anomalies
from pretraining.tasks import Tasks, draw_shares

PLANTED = 0.25  # share of the batches with planted anomalies
FEW_LEVELS = 30  # distinct values up to which a column is taken for categorical
RARE = 0.02, 0.2  # range of the frequency up to which a level is rare
BASE_WEIGHT = 0.2  # of any column as target, beside its largest rank correlation with another column
LEVEL, RARE_LEVELS, UPPER, LOWER, BOTH = range(5)
OF_LEVELS, OF_NUMBERS = (LEVEL, LEVEL, RARE_LEVELS, UPPER), (UPPER, UPPER, LOWER, BOTH)


@dataclass(frozen=True)
class RealTables:
    """T tables, one after the other, row by row.

    values: all cells. first: (T,) where each table starts. n_rows, n_columns: (T,). log_weights: (T, most columns) of
    each column as target, -inf beyond the table's own. sizes: (rows, columns) of each table, on the CPU.
    """

    values: Tensor
    first: Tensor
    n_rows: Tensor
    n_columns: Tensor
    log_weights: Tensor
    sizes: Sequence[tuple[int, int]]

    @classmethod
    def load(cls, path: Path, device: torch.device) -> RealTables:
        """From the arrays x0, x1, ... (rows, columns) of an .npz file, whose columns are standardised."""
        with np.load(path) as file:
            tables = [np.asarray(file[name], np.float32) for name in file.files if name.startswith("x")]
        sizes = [(len(table), table.shape[1]) for table in tables]
        log_weights = torch.full((len(tables), max(n_columns for _, n_columns in sizes)), -torch.inf)
        for weights, table in zip(log_weights, tables, strict=True):
            weights[: table.shape[1]] = torch.from_numpy(np.log(BASE_WEIGHT + _largest_correlations(table)))
        counts = torch.tensor(sizes)
        starts = torch.cumsum(counts.prod(1), 0) - counts.prod(1)
        values = torch.from_numpy(np.concatenate([table.reshape(-1) for table in tables]))
        n_rows, n_columns = counts.T.to(device)
        return cls(values.to(device), starts.to(device), n_rows, n_columns, log_weights.to(device), sizes)

    def draw(self, n_tasks: int, n_rows: int, width: int, chance: random.Random) -> Tasks | None:
        """A batch of tasks, each from one table with as many rows and with more columns; None if there is none."""
        fitting = [number for number, (rows, columns) in enumerate(self.sizes) if rows >= n_rows and columns > width]
        if not fitting:
            return None
        device = self.values.device
        which = torch.tensor(chance.choices(fitting, k=n_tasks), device=device)
        share = draw_shares(n_tasks, device, chance)
        log_weights = self.log_weights[which]
        target = (log_weights + _gumbel(log_weights)).argmax(1, keepdim=True)  # (B, 1)
        others = torch.where(log_weights.isinf(), 2.0, torch.rand_like(log_weights)).scatter(1, target, 2.0)
        columns = others.argsort(1)[:, :width]
        decided = self._values_of(which, target)  # (B, most rows), infinite beyond the table's own
        is_odd = decide(decided, self.n_rows[which], share, chance)
        rows = choose_rows(is_odd, decided.isfinite(), share, n_rows)
        first, n_columns = self.first[which], self.n_columns[which]
        cells = first[:, None, None] + rows[..., None] * n_columns[:, None, None] + columns[:, None]
        values, flags = self.values[cells], is_odd.gather(1, rows)
        if chance.random() < PLANTED:
            flags = torch.rand_like(values[..., 0]) < share[:, None]
            values = anomalies.CHANGES[chance.choice(sorted(anomalies.CHANGES))](values, flags, chance)
        return Tasks(values, flags)

    def _values_of(self, which: Tensor, column: Tensor) -> Tensor:
        """All values of one column (B, 1) of each table (B,)."""
        rows = torch.arange(max(rows for rows, _ in self.sizes), device=which.device)
        there = rows < self.n_rows[which][:, None]
        cells = self.first[which][:, None] + rows * self.n_columns[which][:, None] + column
        return torch.where(there, self.values[torch.where(there, cells, 0)], torch.inf)


def decide(values: Tensor, n_rows: Tensor, share: Tensor, chance: random.Random) -> Tensor:
    """Which values (B, n) of a column are anomalies: one level, rare levels, the upper or lower tail, or both.

    Only the first n_rows (B,) are finite. Each task has a rule of its own that fits its column; a tail holds about the
    share (B,), a level what it holds, and of two sides the smaller one is the anomaly.
    """
    n_tasks, device = len(values), values.device
    ordered = values.sort(1).values
    there = values.isfinite()
    n_levels = 1 + ((ordered[:, 1:] != ordered[:, :-1]) & ordered[:, 1:].isfinite()).sum(1)
    pick = torch.randint(0, len(OF_LEVELS), (n_tasks,), device=device)
    of_levels, of_numbers = (torch.tensor(rules, device=device)[pick] for rules in (OF_LEVELS, OF_NUMBERS))
    rule = torch.where(n_levels <= FEW_LEVELS, of_levels, of_numbers)[:, None]
    part = torch.where(rule == BOTH, 0.5 * share[:, None], share[:, None])
    last = n_rows[:, None] - 1
    high = ordered.gather(1, ((1 - part) * last).ceil().long().clamp(min=0))
    low = ordered.gather(1, (part * last).long())
    level = ordered.gather(1, (torch.rand(n_tasks, 1, device=device) * n_rows[:, None]).long())
    alike = torch.searchsorted(ordered, values, right=True) - torch.searchsorted(ordered, values)
    is_odd = torch.where(
        rule == LEVEL,
        values == level,
        torch.where(
            rule == RARE_LEVELS,
            alike <= chance.uniform(*RARE) * n_rows[:, None],
            ((rule != LOWER) & (values >= high)) | ((rule >= LOWER) & (values <= low)),
        ),
    )
    many = (is_odd & there).sum(1, keepdim=True) > 0.5 * n_rows[:, None]
    return (is_odd ^ many) & there


def choose_rows(is_odd: Tensor, there: Tensor, share: Tensor, n_rows: int) -> Tensor:
    """Positions (B, n_rows) of rows (B, m) that are there, with at most about the share (B,) of those that are odd.

    Where too few others are left, more odd ones fill up.
    """
    n_odd, n_usual = (x.sum(1, keepdim=True) for x in (is_odd, there & ~is_odd))
    kept = (share / (1 - share))[:, None] * n_usual / n_odd.clamp_min(1)
    noise = torch.rand(is_odd.shape, device=is_odd.device)
    late = is_odd & (torch.rand_like(noise) > kept)
    rows = (noise + late.float() + 2 * (~there).float()).argsort(1)[:, :n_rows]
    return rows.gather(1, torch.rand(rows.shape, device=rows.device).argsort(1))


def _largest_correlations(table: np.ndarray) -> np.ndarray:
    """The largest absolute rank correlation (d,) of each column of a table (n, d) with another one."""
    ranks = _mean_ranks(table)
    ranks -= ranks.mean(0)
    ranks /= np.sqrt((ranks**2).sum(0)) + 1e-9
    together = np.abs(ranks.T @ ranks)
    np.fill_diagonal(together, 0)
    return np.asarray(together.max(0))


def _mean_ranks(table: np.ndarray) -> np.ndarray:
    ranks = np.empty(table.shape)
    for column, values in enumerate(table.T):
        _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks[:, column] = (np.cumsum(counts) - (counts - 1) / 2)[at]
    return ranks


def _gumbel(like: Tensor) -> Tensor:
    return -torch.empty_like(like).exponential_().log()
