"""A step that never ends."""

from __future__ import annotations

import time
from collections.abc import Sequence


def run(_: Sequence[str]) -> int:
    """Sleep."""
    time.sleep(600)
    return 0
