"""Where the network looks at many rows: on a GPU where there is one, else with numpy on this CPU."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeVar

GPU_ROWS = 2000  # fewer at once are not worth loading torch and waking a GPU
GPU_BLOCK_ROWS = 8192
DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"))  # what a machine with a GPU has, to be seen without torch
Thing = TypeVar("Thing")


def device_for(n_rows: int) -> Any:
    """The GPU for so many rows at once, None for numpy: by the number of rows alone, so that a job has one path."""
    return find_gpu() if n_rows >= GPU_ROWS else None


@cache
def find_gpu() -> Any:
    """The GPU as torch knows it; None, and torch is not loaded, on a machine without one."""
    if not any(driver.exists() for driver in DRIVERS):
        return None
    from soel.detect.incontext import gpu  # here: it loads torch

    return gpu.find()


def move(thing: Thing, device: Any) -> Thing:
    """A thing with all its arrays as tensors on a device."""
    from soel.detect.incontext import gpu  # here: it loads torch

    return gpu.move(thing, device)
