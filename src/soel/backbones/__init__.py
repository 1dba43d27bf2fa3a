"""Networks that give every item two opposing losses and an embedding."""

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
