"""Frames of one moment are one question: what a second one would say is known from the first."""

from __future__ import annotations

import numpy as np

from soel.types import Floats, Rows, Selection

NEAR = 1.0  # seconds between frames that show the same event


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
