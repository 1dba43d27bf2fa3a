"""Anomaly detection when an expert can label only a few items.

The public names are imported on first use, so that `import soel` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soel.ask.base import Strategy
    from soel.assess.share import ContaminationEstimator
    from soel.detect.base import Detector
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
    from soel.explain import Explanation, Reason
    from soel.images.extractors import Extractor
    from soel.networks.base import Backbone
    from soel.networks.objectives import Objective
    from soel.session import Answer, Session, SessionOptions
    from soel.session.create import create_session, open_session
    from soel.session.growth import add_data, remove_items
    from soel.session.listing import list_sessions
    from soel.session.merge import take_labels
    from soel.session.pictures import MediaOptions
    from soel.settings import PROFILES, Profile, Schedule
    from soel.types import Estimate, Evidence, ItemWeights, Kind, Label, PoolView, RankedWeights, Selection, Verdict

__version__ = "0.1.0"

_NAMES = {
    "soel.estimator": ("SOEL",),
    "soel.session.create": ("create_session", "open_session"),
    "soel.session.growth": ("add_data", "remove_items"),
    "soel.session.merge": ("take_labels",),
    "soel.session.listing": ("list_sessions",),
    "soel.session": ("Answer", "Session", "SessionOptions"),
    "soel.session.pictures": ("MediaOptions",),
    "soel.settings": ("PROFILES", "Profile", "Schedule"),
    "soel.ask.base": ("Strategy",),
    "soel.networks.objectives": ("Objective",),
    "soel.networks.base": ("Backbone",),
    "soel.assess.share": ("ContaminationEstimator",),
    "soel.detect.base": ("Detector",),
    "soel.explain": ("Explanation", "Reason"),
    "soel.images.extractors": ("Extractor",),
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
