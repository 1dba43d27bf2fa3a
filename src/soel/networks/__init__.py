"""Networks trained here: backbones, objectives, and one training loop that knows neither by name.

What needs torch is imported on first use: torch takes seconds to load, and most models have no need of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from soel.plugins import Registry

if TYPE_CHECKING:
    from soel.networks.loop import fit, warm_up
    from soel.networks.stack import Model, embed, gradient_embeddings, join, losses, split

BACKBONES = Registry(
    "backbone",
    {
        "ntl": "soel.networks.row_networks:TableNTL",
        "ntl-features": "soel.networks.row_networks:FeatureNTL",
        "ntl-narrow": "soel.networks.row_networks:NarrowNTL",
        "deep-svdd": "soel.networks.row_networks:DeepSVDD",
        "autoencoder": "soel.networks.row_networks:Autoencoder",
        "classifier": "soel.networks.row_networks:Classifier",
        "mhrot": "soel.networks.vision:MHRot",
    },
)

__all__ = ["BACKBONES", "Model", "embed", "fit", "gradient_embeddings", "join", "losses", "split", "warm_up"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'soel.networks' has no attribute {name!r}")
    return getattr(import_module(f"soel.networks.{'loop' if name in ('fit', 'warm_up') else 'stack'}"), name)
