"""Numbers that people hand in: how many, and what share."""

from __future__ import annotations

from numbers import Integral, Real
from reprlib import repr as shorten
from typing import Any

import numpy as np

from soel.errors import ConfigError


def check_count(name: str, value: Any) -> int:
    """A whole number; 10.0 is one. Whether it is in range is for the caller to say."""
    if not _is_real(value) or not (isinstance(value, Integral) or float(value).is_integer()):
        raise ConfigError(f"{name} must be a whole number, got {_show(value)}; give one such as 10.")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """A share from 0 to 1."""
    if not _is_real(value) or not 0 <= value <= 1:
        raise ConfigError(f"{name} must be a share from 0 to 1, got {_show(value)}; give one such as 0.1.")
    return float(value)


def _is_real(value: Any) -> bool:
    """Whether a value is a number that counts or measures: True and False do neither."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _show(value: Any) -> str:
    """A value as Python writes it, on one line and short: a whole column may have been given."""
    return " ".join(shorten(value).split())
