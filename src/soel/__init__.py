"""Anomaly detection when an expert can label only a few items.

The public names are imported on first use, so that `import soel` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soel.errors import (
        ConfigError,
        DataError,
        LabelError,
        ModelFileError,
        SchemaError,
        SessionError,
        SoelError,
        UnknownItemError,
    )
    from soel.estimator import SOEL
    from soel.profiles import PROFILES, Profile, Schedule

__version__ = "0.1.0"

_HOMES = {
    "SOEL": "soel.estimator",
    "PROFILES": "soel.profiles",
    "Profile": "soel.profiles",
    "Schedule": "soel.profiles",
    **dict.fromkeys(
        (
            "ConfigError",
            "DataError",
            "LabelError",
            "ModelFileError",
            "SchemaError",
            "SessionError",
            "SoelError",
            "UnknownItemError",
        ),
        "soel.errors",
    ),
}

__all__ = [
    "PROFILES",
    "SOEL",
    "ConfigError",
    "DataError",
    "LabelError",
    "ModelFileError",
    "Profile",
    "Schedule",
    "SchemaError",
    "SessionError",
    "SoelError",
    "UnknownItemError",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'soel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
