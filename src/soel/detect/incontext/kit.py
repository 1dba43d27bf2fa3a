"""What the network is computed with: numpy on a CPU, torch on a GPU and in pretraining. The rest is written once.

An `Array` is numpy's or torch's. What the two call alike is used as it is (operators, `mean`, `clip`, `swapaxes`,
indices); for all else there are two modules with the same functions, `arrays` and `tensors`. torch is imported by
whoever hands over a tensor, and by nobody else.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from soel.detect.incontext import arrays

Array: TypeAlias = Any
Kit: TypeAlias = ModuleType


def kit_of(x: Array) -> Kit:
    """The functions for arrays like this one."""
    if isinstance(x, np.ndarray):
        return arrays
    from soel.detect.incontext import tensors  # here: it loads torch

    return tensors
