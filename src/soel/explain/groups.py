"""Which columns of a row are replaced together, and which are then named together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from soel.explain.explanation import Part
from soel.types import Floats

N_SEEDS = 3  # columns of a row that company is looked for
ENOUGH = 0.8  # of what a group of columns explains: what says so much alone is not named together


def find_families(matters: Floats, hang_together: np.ndarray) -> list[tuple[Part, ...]]:
    """For each of the columns that matter most, groups of two and of three that it is worth replacing with.

    matters: (c,) of one row, NaN where a column was not tried. hang_together: (c, c). The company of a column is what
    hangs together with it and matters most; every two of a group hang together, and no column is in two families.
    """
    free, families = np.isfinite(matters), list[tuple[Part, ...]]()
    order = np.argsort(-np.where(free, matters, -np.inf), kind="stable")
    for seed in order[:N_SEEDS]:
        company = order[hang_together[seed, order] & free[order]]
        if not free[seed] or not len(company):
            continue
        pair = (seed, company[0])
        third = company[hang_together[company[0], company]][:1]
        groups = [pair, (*pair, *third)] if len(third) else [pair]
        families.append(tuple(tuple(sorted(int(column) for column in group)) for group in groups))
        free[list(groups[-1])] = False
    return families


def may_be_named(family: tuple[Part, ...], drops: Floats, height: float) -> bool:
    """Whether it is worth trying: not where one of its columns alone says enough of all that raises the row, `height`.

    drops: (c,) by how much each column lowers the score.
    """
    return not height > 0 or sum(drops[column] >= ENOUGH * height for column in family[-1]) != 1


def choose_group(family: tuple[Part, ...], drops: Mapping[Part, float]) -> Part | None:
    """The group of a family that is named instead of its columns, by how much each part lowers the score; or none.

    Columns are named together where none of them says enough alone, or where both of a pair do, so that nobody can
    tell which of them is wrong.
    """
    pair = family[0]
    for group in family[1:]:
        enough = ENOUGH * drops[group]
        if enough > 0 and all(drops[part] < enough for part in (pair, *((column,) for column in group))):
            return group
    enough = ENOUGH * drops[pair]
    return pair if enough > 0 and sum(drops[(column,)] >= enough for column in pair) != 1 else None
