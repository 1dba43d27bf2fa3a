"""torch, for networks that are trained here: all of soel takes it from this module, which says what to install."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soel.plugins import is_installed, missing_package
from soel.settings import Profile
from soel.types import Kind

if TYPE_CHECKING:
    import torch as torch
    from torch import Tensor as Tensor, nn as nn
    from torch.nn import functional as F

__all__ = ["F", "Tensor", "has_gpu", "nn", "settle", "torch"]


def has_gpu() -> bool:
    """Whether torch is installed and sees a GPU."""
    if not is_installed("torch"):
        return False
    import torch  # here: loading it takes a second

    return bool(torch.cuda.is_available())


def settle(profile: Profile, kind: Kind, n_features: int, has_patches: bool = False) -> Profile:
    """The profile for rows of this kind and width on this machine: by whether torch is installed and sees a GPU."""
    on_gpu = kind is not Kind.TABLE and has_gpu()  # tables gain nothing by one, and torch is not loaded
    return profile.settle(kind, n_features, on_gpu, is_installed("torch"), has_patches)


def __getattr__(name: str) -> Any:
    """torch, or one of its parts, imported when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'soel.deep' has no attribute {name!r}")
    try:
        import torch
    except ImportError as error:
        raise missing_package("Networks", "torch", "deep") from error
    return {"torch": torch, "Tensor": torch.Tensor, "nn": torch.nn, "F": torch.nn.functional}[name]
