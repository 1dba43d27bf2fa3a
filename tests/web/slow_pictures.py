"""`soel label` with a slow extractor that needs no network, and without the work that follows."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray

from soel.features import matrix
from soel.jobs import background, creation_task
from soel.media import picture_pool
from soel.types import Floats
from tests.web.pictures import Brightness

launch = background._launch


class SlowBrightness(Brightness):
    """Takes a second for a batch."""

    def features(self, pictures: NDArray[np.uint8]) -> Floats:
        """Features of pictures, at leisure."""
        time.sleep(1.0)
        return super().features(pictures)


def launch_slow(command: list[str], *rest: object) -> subprocess.Popen[bytes]:
    """Start this module in place of the creation, and nothing in place of another step."""
    module, words = command[2], command[3:]
    slow = [sys.executable, "-m", "tests.web.slow_pictures", *words]
    return launch(slow if module == "soel.jobs.creation_task" else ["true"], *rest)  # type: ignore[arg-type]


if __name__ == "__main__":
    if sys.argv[1] == "label":
        from soel.cli.main import main

        setattr(background, "_launch", launch_slow)  # noqa: B010
        sys.exit(main(sys.argv[1:]))
    setattr(picture_pool, "open_extractor", lambda _: SlowBrightness())  # noqa: B010
    setattr(matrix, "SYNC_SECONDS", 0.0)  # noqa: B010 - each batch is kept, not only those of some seconds ago
    sys.exit(creation_task.run())
