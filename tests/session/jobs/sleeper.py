"""A process whose steps never end."""

from __future__ import annotations

import sys
import time

from soel.session import worker


def sleep(*_: object) -> int:
    """Sleep."""
    time.sleep(600)
    return 0


if __name__ == "__main__":
    setattr(worker, "run", sleep)  # noqa: B010
    sys.exit(worker.main(*sys.argv[1:]))
