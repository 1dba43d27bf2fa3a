"""`soel label` with a slow extractor that needs no network, and without the work that follows."""

from __future__ import annotations

import sys
import time

import numpy as np
from numpy.typing import NDArray

from soel.images import extract, picture_pool
from soel.session import worker
from soel.types import Floats
from tests.web.pictures import Brightness


class SlowBrightness(Brightness):
    """Takes a second for a batch."""

    def features(self, pictures: NDArray[np.uint8]) -> Floats:
        """Features of pictures, at leisure."""
        time.sleep(1.0)
        return super().features(pictures)


if __name__ == "__main__":
    if sys.argv[2:3] == [worker.CREATE]:
        setattr(picture_pool, "open_extractor", lambda _: SlowBrightness())  # noqa: B010
        setattr(extract, "SYNC_SECONDS", 0.0)  # noqa: B010
        sys.exit(worker.main(*sys.argv[1:]))
    if sys.argv[2:3] and sys.argv[2] in (*worker.STEPS, worker.REFINE):
        sys.stdout.write("started\n")  # and nothing is done
    else:
        from soel.cli.main import main

        setattr(worker, "MODULE", "tests.web.slow_pictures")  # noqa: B010
        sys.exit(main(sys.argv[1:]))
