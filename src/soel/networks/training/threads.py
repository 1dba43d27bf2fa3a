"""Threads and precision of a computation: decided by its size and settings, never by what ran before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from soel.threads import n_cores
from soel.types import Precision

ROWS_TIMES_PARAMETERS = 3e7  # below this a step is mostly overhead, and waiting for a second thread adds to it


@contextmanager
def threads_for(n_rows: int, n_parameters: int) -> Iterator[None]:
    """Set torch's thread count for this much work per step, and put it back afterwards."""
    before = torch.get_num_threads()
    small = n_rows * n_parameters < ROWS_TIMES_PARAMETERS
    torch.set_num_threads(1 if small else n_cores())
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def precision(setting: Precision) -> Iterator[None]:
    """Matrix products in full float32 ('highest') or TF32 ('high'); only a GPU knows the difference."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
