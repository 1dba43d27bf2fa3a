"""Which rows a strategy sees, and how many it draws of them, where some are to be asked first, last or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.types import UNLABELLED, Booleans, Floats, Labels, Rows, Selection

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
