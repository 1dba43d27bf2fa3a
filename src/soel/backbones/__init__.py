"""Networks that give every item two opposing losses and an embedding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soel.registry import Registry

BACKBONES = Registry(
    "backbone",
    {
        "ntl": "soel.backbones.ntl:TableNTL",
        "ntl-features": "soel.backbones.ntl:FeatureNTL",
        "ntl-narrow": "soel.backbones.ntl_narrow:NarrowNTL",
        "deep-svdd": "soel.backbones.deep_svdd:DeepSVDD",
        "autoencoder": "soel.backbones.autoencoder:Autoencoder",
        "classifier": "soel.backbones.classifier:Classifier",
        "mhrot": "soel.backbones.mhrot:MHRot",
    },
)


def without_torch(name: str) -> Callable[..., Any] | None:
    """What scores a few rows by the weights of a backbone, without torch; None where nothing does."""
    if name != "ntl":
        return None
    from soel.backbones.ntl_numpy import looks_normal

    return looks_normal
