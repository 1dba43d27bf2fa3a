"""Detectors without gradient steps: each fitted in one go, alone or beside a network."""

from soel.plugins import Registry

DETECTORS = Registry(
    "detector",
    {
        "neighbours": "soel.detect.neighbours:Neighbours",
        "angular": "soel.detect.angular:Angular",
        "patches": "soel.detect.patches:Patches",
        "pretrained": "soel.detect.incontext.pretrained:Pretrained",
    },
)
