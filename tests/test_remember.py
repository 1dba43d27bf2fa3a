"""What functions of arrays keep."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from soel.numeric import remember


def test_equal_arrays_are_computed_once_and_none_is_kept() -> None:
    seen: list[float] = []

    @remember(2)
    def total(x: np.ndarray, factor: int) -> float:
        seen.append(float(x.sum()) * factor)
        return seen[-1]

    x = np.arange(5.0)
    gone = weakref.ref(x)
    assert total(x, 2) == total(x.copy(), 2) == 20
    assert total(x.reshape(1, 5), 2) == total(x, 2)
    assert seen == [20, 20], "another shape is another array"
    del x
    gc.collect()
    assert gone() is None
    total(np.zeros(1), 1)
    total(np.ones(1), 1)
    assert total(np.arange(5.0), 2) == 20
    assert len(seen) == 5, "only the last two are kept"
