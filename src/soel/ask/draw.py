"""Exact draws from a softmax over the pool, keyed by seed, draw and row: however the rows are sharded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from soel.noise import MOST, UNIT, noise, random_bits, uniform
from soel.types import Floats

SLACK = 1e-3  # far above what rounding does to a speed in float32, but for weights too small to ever win


@dataclass(frozen=True)
class Drawn:
    """The winner of a draw among some rows, and what its odds need.

    row: in the pool. key: its logit with its noise. top: the largest logit. mass: the sum of exp(logit - top).
    """

    row: int
    key: float
    logit: float
    top: float
    mass: float

    @property
    def odds(self) -> float:
        """The probability the winner had among these rows."""
        return float(np.exp(self.logit - self.top) / self.mass)


def draw_among(logits: Floats, seed: int, draw: int, start: int = 0) -> Drawn | None:
    """The row with the largest logit plus noise, among rows `start` on; None where all are at -inf.

    That row is the first in a race in which each takes -log(u) / exp(logit), u its uniform number. It takes at least
    (1 - u) / exp(logit). The row that is fastest by that bound sets the bar; only rows that can be as fast get
    logarithms, and the draw stays exact.
    """
    top = float(logits.max())
    if top == -np.inf:
        return None
    bits = random_bits(seed, draw, np.arange(start, start + len(logits), dtype=np.uint64))
    weights = np.exp(logits - logits.dtype.type(top))
    speeds = weights / (np.subtract(MOST, bits).astype(weights.dtype) + weights.dtype.type(0.5))
    pace = int(speeds.argmax())
    bar = float(weights[pace] / (-np.log(uniform(bits[pace])) / UNIT))
    able = np.flatnonzero(speeds >= bar * (1 - SLACK))
    keys = logits[able] + noise(bits[able])
    winner = int(keys.argmax())
    row = int(able[winner])
    return Drawn(start + row, float(keys[winner]), float(logits[row]), top, float(weights.sum(dtype=np.float64)))


def draw_any(n_rows: int, seed: int, start: int = 0) -> Drawn:
    """The first draw where nothing is known: each of `n_rows` from `start` on is as likely."""
    return join_draws([draw_among(np.zeros(n_rows, np.float32), seed, 0, start)])


def join_draws(parts: Iterable[Drawn | None]) -> Drawn:
    """The draw among all rows, from the draws among parts of them in order; one of them must have a row."""
    able = [part for part in parts if part is not None]
    winner, top = max(able, key=lambda part: part.key), max(part.top for part in able)  # the first of equal ones
    mass = float(sum(part.mass * np.exp(part.top - top) for part in able))
    return Drawn(winner.row, winner.key, winner.logit, top, mass)
