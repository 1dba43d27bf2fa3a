"""Things of the network on a GPU: found and moved with torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import torch

Thing = TypeVar("Thing")


def find() -> torch.device | None:
    """The GPU that torch can use; None where it can use none."""
    return torch.device("cuda") if torch.cuda.is_available() else None


def move(thing: Thing, device: torch.device) -> Thing:
    """A thing with all its arrays as tensors on a device: dataclasses, sequences and mappings are gone through."""
    moved: Thing = _move(thing, device)
    return moved


def _move(part: Any, device: torch.device) -> Any:
    if isinstance(part, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(part)).to(device)
    if isinstance(part, Mapping):
        return {name: _move(each, device) for name, each in part.items()}
    if isinstance(part, tuple | list):
        return type(part)(_move(each, device) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        return type(part)(**{field.name: _move(getattr(part, field.name), device) for field in fields(part)})
    return part
