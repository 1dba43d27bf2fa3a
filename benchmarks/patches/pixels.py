"""How well maps point at defects: AUROC over pixels, and AUPRO over regions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

from soel.assess.metrics import auroc
from soel.images.grids import Grid
from soel.types import Floats

SIDE = 128  # pixels of the pictures in which maps and masks are compared
MOST_FALSE = 0.3  # of the sound pixels, up to which regions count


def pixel_figures(maps: Floats, masks: NDArray[np.bool_], grid: Grid) -> tuple[float, float]:
    """AUROC and AUPRO of maps (n, P) against masks (n, SIDE, SIDE). grid: where places lie."""
    scores = grid.enlarge(maps, SIDE, SIDE)
    return auroc(masks.ravel(), scores.ravel()), aupro(scores, masks)


def aupro(scores: Floats, masks: NDArray[np.bool_]) -> float:
    """The mean covered share of regions (n, H, W), integrated over false alarms up to 30 % and brought to 0 to 1."""
    sound = np.sort(scores[~masks])[::-1]
    regions = [scores[row][numbered == at] for row, numbered, n in _regions(masks) for at in range(1, n + 1)]
    false = np.linspace(0, MOST_FALSE, 61)
    limits = sound[np.minimum((false * len(sound)).astype(int), len(sound) - 1)]
    covered = [np.mean([(region > limit).mean() for region in regions]) for limit in limits]
    return float(np.trapezoid(covered, false) / MOST_FALSE)


def _regions(masks: NDArray[np.bool_]) -> list[tuple[int, NDArray[np.int32], int]]:
    return [(row, *label(mask)) for row, mask in enumerate(masks) if mask.any()]
