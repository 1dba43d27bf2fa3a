"""The strategies that look at all distances, on a pool that is spread over workers: one reduce per draw.

They pick what `Diverse` and `KCenter` pick on the whole pool, exactly, however many workers there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from soel.ask.base import Strategy
from soel.ask.diverse import Diverse
from soel.ask.draw import Drawn, join_draws
from soel.ask.k_center import KCenter
from soel.ask.shards import Point
from soel.ask.space import BLOCK_ROWS, find_origin, sample_step
from soel.types import UNLABELLED, Labels, Rows, Selection


class Shards(Protocol):
    """All shards of a pool, in row order; they may be anywhere."""

    @property
    def n_rows(self) -> int:
        """Rows of the pool."""

    def settle(self, origin: Any, free: np.ndarray) -> None:
        """Give each shard the origin and its part of `free` (N,)."""

    def ask(self, what: str, *given: Any) -> list[Any]:
        """The answers of all shards to one of `Shard`'s methods."""


def can_shard(strategy: Strategy, n_rows: int) -> bool:
    """Whether this strategy knows how to work on shards, and the pool is large enough to have more than one."""
    return type(strategy) in (Diverse, KCenter) and n_rows > BLOCK_ROWS


def select_sharded(
    strategy: Strategy, shards: Shards, labels: Labels, n_rows: int, rng: np.random.Generator
) -> Selection:
    """`n_rows` rows by the strategy. labels: (N,) of the pool."""
    shards.settle(_origin(shards), labels == UNLABELLED)
    known = _points_of(shards, np.flatnonzero(labels != UNLABELLED))
    if isinstance(strategy, Diverse):
        return _diverse(strategy, shards, known, n_rows, int(rng.integers(2**63)))
    assert isinstance(strategy, KCenter)
    return _k_center(strategy, shards, known, n_rows, rng)


def _diverse(strategy: Diverse, shards: Shards, known: list[Point], n_rows: int, seed: int) -> Selection:
    unit = (_diameter(shards) or 1.0) * strategy.temperature
    rows: list[int] = []
    odds, placed = [], known
    for draw in range(n_rows):
        if not placed and not rows:
            point, chance = _first_diverse(strategy, shards, unit, seed)
        else:
            point, chance = _pick_winner(shards.ask("draw", placed, unit, seed, draw))
        rows.append(point.row)
        odds.append(chance)
        placed = [point]
    return Selection(np.array(rows, np.int64), np.array(odds))


def _first_diverse(strategy: Diverse, shards: Shards, unit: float, seed: int) -> tuple[Point, float]:
    if strategy.first == "uniform":
        return _pick_winner(shards.ask("draw_any", seed))
    parts = shards.ask("samples", sample_step(shards.n_rows))
    others, squares = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return _smallest(shards.ask("most_central", others, squares, unit)), 1.0


def _k_center(
    strategy: KCenter, shards: Shards, known: list[Point], n_rows: int, rng: np.random.Generator
) -> Selection:
    rows: list[int] = []
    placed = known
    for _ in range(n_rows):
        if not placed and not rows:
            point = _first_centre(strategy, shards, rng)
        else:
            point = _largest([found for found in shards.ask("farthest", placed) if found is not None])
        rows.append(point.row)
        placed = [point]
    return Selection(np.array(rows, np.int64), np.ones(len(rows)))


def _first_centre(strategy: KCenter, shards: Shards, rng: np.random.Generator) -> Point:
    if strategy.first == "central":
        return _smallest(shards.ask("extreme", True))
    return _pick_winner(shards.ask("draw_any", int(rng.integers(2**63))))[0]


def _origin(shards: Shards) -> Any:
    return find_origin(np.concatenate(shards.ask("every", sample_step(shards.n_rows))))


def _points_of(shards: Shards, rows: Rows) -> list[Point]:
    return [point for part in shards.ask("points_of", rows) for point in part] if len(rows) else []


def _diameter(shards: Shards) -> float:
    """The double sweep of `Space.diameter`; a pool that has shards is larger than what is looked at in pairs."""
    far = _largest(shards.ask("extreme", False))
    return _largest(shards.ask("farthest_from", far)).value


def _pick_winner(found: Sequence[tuple[Point, Drawn] | None]) -> tuple[Point, float]:
    """The winner of a draw among the shards' own, and the probability it had."""
    able = [each for each in found if each is not None]
    drawn = join_draws(own for _, own in able)
    return next(point for point, own in able if own.row == drawn.row), drawn.odds


def _largest(points: Sequence[Point]) -> Point:
    return max(points, key=lambda point: point.value)  # the first of equal ones, as argmax


def _smallest(points: Sequence[Point]) -> Point:
    return min(points, key=lambda point: point.value)
