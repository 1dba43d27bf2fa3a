"""What a strategy is: a rule that orders unlabelled rows by how much it wants them labelled; and which rows it sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from soel.errors import ConfigError, DataError
from soel.types import UNLABELLED, Booleans, Floats, Labels, PoolView, Rows, Selection


class Need(StrEnum):
    """What a strategy can ask to see. Gradients (of the network's last layer) take the place of embeddings."""

    SCORES = "scores"
    EMBEDDINGS = "embeddings"
    GRADIENTS = "gradients"
    CONTAMINATION = "contamination"


class Strategy(ABC):
    """Picks rows from a frozen view of the pool; all chance comes from the generator given.

    needs: what the view must hold; nothing else is computed for it.
    is_sequential: whether each question wants to know the last answer. Scores then come from a detector that was
    updated with all labels so far, where there is one that is fitted at once.
    version: raised whenever the same view and generator give other rows.
    """

    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.SCORES, Need.EMBEDDINGS})
    is_sequential: ClassVar[bool] = False

    def select(self, view: PoolView, n_queries: int, rng: np.random.Generator, n_reserve: int = 0) -> Selection:
        """`n_queries` distinct unlabelled rows in the order to ask, followed by up to `n_reserve` more."""
        return self._select(view, n_queries, self.check(view, n_queries, n_reserve), rng)

    def check(self, view: PoolView, n_queries: int, n_reserve: int = 0) -> int:
        """How many rows such a selection has; refuses one that cannot be made."""
        n_free = len(view.unlabelled)
        if n_queries < 1:
            raise DataError(f"At least one item must be asked for, got {n_queries}.")
        if n_queries > n_free:
            raise DataError(
                f"{n_queries} items were asked for but only {n_free} of {len(view)} have no label; ask for fewer."
            )
        if Need.CONTAMINATION in self.needs and view.contamination is None:
            raise ConfigError(
                f"The strategy {type(self).__name__} needs the share of anomalies; "
                "pass contamination=... or choose a strategy that does without it."
            )
        return min(n_queries + n_reserve, n_free)

    @abstractmethod
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        """`n_rows` rows by the rule for a round of `n_queries`."""


def certain(rows: Sequence[int] | Rows) -> Selection:
    """A selection made without chance."""
    return Selection(np.asarray(rows, np.int64), np.ones(len(rows)))


def scale_to_unit(values: Floats) -> Floats:
    """Values moved to [0, 1]; all 0 where they do not differ."""
    low, spread = values.min(), np.ptp(values)
    return (values - low) / spread if spread > 0 else np.zeros_like(values)


def alarm_margin(view: PoolView) -> Floats:
    """Distance (N,) of each score to the (1 - contamination) quantile."""
    assert view.contamination is not None
    return np.abs(view.scores - np.quantile(view.scores, 1 - view.contamination))


# Which rows a strategy sees, and how many it draws of them, where some are asked first, last or not at all

NEAR = 1.0  # seconds between frames that show the same event


@dataclass(frozen=True)
class Portion:
    """Rows that one draw is made of.

    rows: that the strategy sees, the labelled ones and those it may pick; None for all. n: how many are asked.
    n_reserve: how many more may step in for them.
    """

    rows: Rows | None
    n: int
    n_reserve: int = 0


def plan_draws(labels: Labels, n: int, n_reserve: int, aside: Rows, first: Rows, last: Rows) -> list[Portion]:
    """One draw, or two where too few rows are to be asked first: all of them, then others as if those were not there.

    aside, first, last: as `Learner.propose` has them; a row that is in several of them is `aside`, else `last`.
    """
    is_first = np.zeros(len(labels), bool)
    is_first[first] = True
    is_first[aside] = is_first[last] = False
    is_first &= labels == UNLABELLED
    n_first = int(is_first.sum())
    if n_first >= n:
        return [Portion(_rows_or_all(is_first | (labels != UNLABELLED)), n, n_reserve)]
    taken = np.flatnonzero(is_first)
    others = Portion(visible_rows(labels, n - n_first, np.concatenate([aside, taken]), last), n - n_first, n_reserve)
    return [others] if not n_first else [Portion(_rows_or_all(is_first | (labels != UNLABELLED)), n_first), others]


def visible_rows(labels: Labels, n: int, aside: Rows, last: Rows) -> Rows | None:
    """The rows that a strategy sees of which it draws `n`: those of `last` only where there are too few others."""
    keep = np.ones(len(labels), bool)
    keep[aside] = keep[last] = False
    if int((keep & (labels == UNLABELLED)).sum()) < n:
        keep[last] = True
    return _rows_or_all(keep | (labels != UNLABELLED))


def _rows_or_all(keep: Booleans) -> Rows | None:
    return None if keep.all() else np.flatnonzero(keep)


def spread_over_time(chosen: Selection, moments: Floats, known: Rows) -> Selection:
    """The same rows in another order: those within a second of an earlier one, or of a known row, come last.

    So they are asked only where nothing else was chosen. moments: (N, 2), the number of the clip and the second.
    """
    taken = [moments[row] for row in known]
    first: list[int] = []
    last: list[int] = []
    for at, row in enumerate(chosen.rows):
        is_near = any(clip == moments[row, 0] and abs(second - moments[row, 1]) <= NEAR for clip, second in taken)
        (last if is_near else first).append(at)
        taken.append(moments[row])
    order = np.array([*first, *last], np.int64)
    return Selection(chosen.rows[order], chosen.odds[order])
