"""`soel label` with a slow extractor that needs no network, and without the work that follows."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from soel.images import extract
from soel.session import creation_task, pictures, worker
from soel.types import Floats
from tests.web.pictures import Brightness

launch = worker._launch


class SlowBrightness(Brightness):
    """Takes a second for a batch."""

    def features(self, pictures: NDArray[np.uint8]) -> Floats:
        """Features of pictures, at leisure."""
        time.sleep(1.0)
        return super().features(pictures)


def launch_slow(command: list[str], *rest: object) -> subprocess.Popen[bytes]:
    """Start this module in place of the creation, and nothing in place of another step."""
    started = [sys.executable, "-c", "print('started')"]
    slow = ["tests.web.slow_pictures" if word == "soel.session.creation_task" else word for word in command]
    return launch(started if slow == command else slow, *rest)  # type: ignore[arg-type]


def run(words: Sequence[str]) -> int:
    """Create with the slow extractor; each batch is kept, not only those of some seconds ago."""
    setattr(pictures, "open_extractor", lambda _: SlowBrightness())  # noqa: B010
    setattr(extract, "SYNC_SECONDS", 0.0)  # noqa: B010
    return creation_task.run(words)


if __name__ == "__main__":
    from soel.cli.main import main

    setattr(worker, "_launch", launch_slow)  # noqa: B010
    sys.exit(main(sys.argv[1:]))
