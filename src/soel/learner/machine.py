"""What this machine can do."""

from __future__ import annotations

from soel.types import Kind


def has_gpu(kind: Kind) -> bool:
    """Whether a GPU will compute for rows of this kind. On a table none does, so that torch need not be imported."""
    if kind is Kind.TABLE:
        return False
    import torch

    return bool(torch.cuda.is_available())
