"""Anomaly detection when an expert can label only a few items.

The public names are imported on first use, so that `import soel` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soel.api.labels import merge_session, take_labels
    from soel.api.listing import list_sessions
    from soel.api.sessions import create_session, open_session
    from soel.backbones.base import Backbone
    from soel.contamination.base import ContaminationEstimator
    from soel.detectors.base import Detector
    from soel.errors import (
        ConfigError,
        DataError,
        LabelError,
        ModelFileError,
        SchemaError,
        SessionError,
        SoelError,
        StorageError,
        UnknownItemError,
    )
    from soel.estimator import SOEL
    from soel.explanations import Explanation, Reason
    from soel.features.extractors import Extractor
    from soel.media.picture_pool import MediaOptions
    from soel.objectives.base import Objective
    from soel.pools.growth import add_data
    from soel.profiles import PROFILES, Profile, Schedule
    from soel.queries.base import Strategy
    from soel.session import Answer, Session, SessionOptions
    from soel.session.growth import remove_items
    from soel.types import Estimate, Evidence, ItemWeights, Kind, Label, PoolView, RankedWeights, Selection, Verdict

__version__ = "0.1.0"

_NAMES = {
    "soel.estimator": ("SOEL",),
    "soel.api.sessions": ("create_session", "open_session"),
    "soel.pools.growth": ("add_data",),
    "soel.session.growth": ("remove_items",),
    "soel.api.labels": ("merge_session", "take_labels"),
    "soel.api.listing": ("list_sessions",),
    "soel.session": ("Answer", "Session", "SessionOptions"),
    "soel.media.picture_pool": ("MediaOptions",),
    "soel.profiles": ("PROFILES", "Profile", "Schedule"),
    "soel.queries.base": ("Strategy",),
    "soel.objectives.base": ("Objective",),
    "soel.backbones.base": ("Backbone",),
    "soel.contamination.base": ("ContaminationEstimator",),
    "soel.detectors.base": ("Detector",),
    "soel.explanations": ("Explanation", "Reason"),
    "soel.features.extractors": ("Extractor",),
    "soel.types": (
        "Estimate",
        "Evidence",
        "ItemWeights",
        "Kind",
        "Label",
        "PoolView",
        "RankedWeights",
        "Selection",
        "Verdict",
    ),
    "soel.errors": (
        "ConfigError",
        "DataError",
        "LabelError",
        "ModelFileError",
        "SchemaError",
        "SessionError",
        "SoelError",
        "StorageError",
        "UnknownItemError",
    ),
}
_HOME_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "PROFILES",
    "SOEL",
    "Answer",
    "Backbone",
    "ConfigError",
    "ContaminationEstimator",
    "DataError",
    "Detector",
    "Estimate",
    "Evidence",
    "Explanation",
    "Extractor",
    "ItemWeights",
    "Kind",
    "Label",
    "LabelError",
    "MediaOptions",
    "ModelFileError",
    "Objective",
    "PoolView",
    "Profile",
    "RankedWeights",
    "Reason",
    "Schedule",
    "SchemaError",
    "Selection",
    "Session",
    "SessionError",
    "SessionOptions",
    "SoelError",
    "StorageError",
    "Strategy",
    "UnknownItemError",
    "Verdict",
    "add_data",
    "create_session",
    "list_sessions",
    "merge_session",
    "open_session",
    "remove_items",
    "take_labels",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'soel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
