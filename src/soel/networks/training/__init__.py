"""The one training loop. It knows no backbone and no objective by name.

Its names are imported on first use: torch takes seconds to load, and a model without a network has no need of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soel.networks.training.gradients import gradient_embeddings
    from soel.networks.training.inference import embed, losses
    from soel.networks.training.loop import fit, warm_up
    from soel.networks.training.model import Model
    from soel.networks.training.stack import join, split

_HOME_OF = {
    "Model": "model",
    "embed": "inference",
    "fit": "loop",
    "gradient_embeddings": "gradients",
    "join": "stack",
    "losses": "inference",
    "split": "stack",
    "warm_up": "loop",
}

__all__ = [
    "Model",
    "embed",
    "fit",
    "gradient_embeddings",
    "join",
    "losses",
    "split",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"soel.networks.training.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'soel.networks.training' has no attribute {name!r}")
