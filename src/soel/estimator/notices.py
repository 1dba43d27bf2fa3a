"""What the estimator warns of: in the line that called it, once a call."""

from __future__ import annotations

import inspect
import warnings

import numpy as np

from soel.errors import DataWarning
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.types import Floats

NO_NAMES = (
    "X does not have valid feature names, but {detector} was fitted with feature names: its columns were matched by "
    "position; give a frame with those names to have them matched by name."
)
NEW_NAMES = (
    "X has feature names, but {detector} was fitted without feature names: its columns were matched by position; "
    "fit on a frame with names to have them matched by name."
)


def warn_caller(words: str) -> None:
    """Warn where this package was called, however deep inside it something was noticed."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "soel":
        level, frame = level + 1, frame.f_back
    warnings.warn(words, DataWarning, stacklevel=level)


def warn_of_positions(detector: str, encoder: Encoder, *frames: Frame) -> None:
    """Say that columns were matched by position though one side has names, as scikit-learn does. detector: its name."""
    if any(encoder.goes_by_position(frame) for frame in frames):
        warn_caller((NO_NAMES if encoder.named else NEW_NAMES).format(detector=detector))


def warn_of_equal_rows(rows: Floats) -> None:
    """Say that encoded rows (N, d) of a pool leave nothing to learn from."""
    if np.array_equal(rows[0], rows[-1]) and np.array_equal(rows.min(axis=0), rows.max(axis=0)):
        warn_caller(
            f"No column varies that could be learnt from (ids and empty columns are left out): all {len(rows)} rows "
            "are equal, so their scores are, too, and mean nothing; give columns that tell rows apart."
        )
