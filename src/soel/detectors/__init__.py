"""Detectors without gradient steps: each fitted in one go, alone or beside a network."""

from soel.registry import Registry

DETECTORS = Registry(
    "detector",
    {
        "neighbours": "soel.detectors.neighbours:Neighbours",
        "angular": "soel.detectors.angular:Angular",
        "patches": "soel.detectors.patches:Patches",
        "scales": "soel.detectors.scales:Scales",
        "pretrained": "soel.detectors.pretrained.pretrained:Pretrained",
    },
    former={"surroundings": "neighbours", "angles": "angular"},
)
