"""Does the summary of drift stay quiet on data like the pool's, and speak where something was planted?

Real tables (the folders `oddbench` and `tables` of SOEL_DATA) are split in two at random, several times: one half is
the pool, the other half is scored. Then the other half is changed in one way, in one column drawn at random.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.detection.tasks import find_tables
from soel import SOEL
from soel.types import Floats

FLOORS = {"quiet_on_halves": 0.99, "heard_out_of_range": 0.99, "heard_missing": 0.99, "heard_shifted": 0.9}
SPLITS, MOST_ROWS, SHARE = 2, 2_000, 0.2
Plant = Callable[[Floats, int, Floats, np.random.Generator], None]


def measure() -> dict[str, float]:
    """Shares of the splits in which the summary does what it should. Loud halves are printed."""
    heard: dict[str, list[bool]] = {figure: [] for figure in FLOORS}
    for path in find_tables([Path(os.environ.get("SOEL_DATA", "data"))]):
        table = np.load(path)["X"].astype(np.float64)
        for split in range(SPLITS):
            rng = np.random.default_rng(split)
            rows = table[rng.permutation(len(table))[:MOST_ROWS]]
            pool, new = np.array_split(rows, 2)
            detector = SOEL(random_state=split).fit(pool)
            quiet = detector.drift(new)
            heard["quiet_on_halves"].append(not quiet.found)
            if quiet.found:
                print(f"{path.stem}, split {split}: {quiet}")
            column = int(rng.choice(np.flatnonzero(pool.std(axis=0) > 0)))
            for name, plant in PLANTS.items():
                changed = new.copy()
                plant(changed, column, pool[:, column], rng)
                heard[name].append(detector.drift(changed).found)
    splits = float(len(heard["quiet_on_halves"]))
    return {figure: float(np.mean(times)) for figure, times in heard.items()} | {"splits": splits}


def leave_range(new: Floats, column: int, was: Floats, rng: np.random.Generator) -> None:
    """A fifth of the rows a little above everything that the pool had."""
    new[rng.random(len(new)) < SHARE, column] = was.max() + 0.01 * was.std()


def lose(new: Floats, column: int, was: Floats, rng: np.random.Generator) -> None:
    """A fifth of the cells are missing."""
    new[rng.random(len(new)) < SHARE, column] = np.nan


def shift(new: Floats, column: int, was: Floats, rng: np.random.Generator) -> None:
    """All rows by a standard deviation, and no further than the pool's ends."""
    new[:, column] = np.clip(new[:, column] + was.std(), was.min(), was.max())


PLANTS: dict[str, Plant] = {"heard_out_of_range": leave_range, "heard_missing": lose, "heard_shifted": shift}
