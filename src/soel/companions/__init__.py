"""Scorers that need no training and stand beside the deep one."""

from soel.registry import Registry

COMPANIONS = Registry(
    "companion",
    {"surroundings": "soel.companions.surroundings:Surroundings", "angles": "soel.companions.angles:Angles"},
)
