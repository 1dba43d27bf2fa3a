"""Networks that give every item two opposing losses and an embedding."""

from soel.registry import Registry

BACKBONES = Registry(
    "backbone",
    {
        "ntl": "soel.backbones.ntl:table_ntl",
        "ntl-features": "soel.backbones.ntl:feature_ntl",
        "ntl-narrow": "soel.backbones.ntl_narrow:narrow_ntl",
        "deep-svdd": "soel.backbones.deep_svdd:DeepSVDD",
        "autoencoder": "soel.backbones.autoencoder:Autoencoder",
        "classifier": "soel.backbones.classifier:Classifier",
        "mhrot": "soel.backbones.mhrot:MHRot",
    },
)
