"""The arrays that travel between rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]
Booleans = NDArray[np.bool_]
