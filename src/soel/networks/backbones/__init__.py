"""Networks that give every item two opposing losses and an embedding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soel.plugins import Registry

BACKBONES = Registry(
    "backbone",
    {
        "ntl": "soel.networks.backbones.ntl:TableNTL",
        "ntl-features": "soel.networks.backbones.ntl:FeatureNTL",
        "ntl-narrow": "soel.networks.backbones.ntl_narrow:NarrowNTL",
        "deep-svdd": "soel.networks.backbones.deep_svdd:DeepSVDD",
        "autoencoder": "soel.networks.backbones.autoencoder:Autoencoder",
        "classifier": "soel.networks.backbones.classifier:Classifier",
        "mhrot": "soel.networks.backbones.mhrot:MHRot",
    },
)


def without_torch(name: str) -> Callable[..., Any] | None:
    """What scores a few rows by the weights of a backbone, without torch; None where nothing does."""
    if name != "ntl":
        return None
    from soel.networks.backbones.ntl_numpy import looks_normal

    return looks_normal
