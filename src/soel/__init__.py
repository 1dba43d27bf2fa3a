"""Anomaly detection when an expert can label only a few items.

The public names are imported on first use, so that `import soel` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soel.ask.strategy import Strategy as Strategy
    from soel.assess.share import ContaminationEstimator as ContaminationEstimator
    from soel.detect.detector import Detector as Detector
    from soel.errors import (
        ConfigError as ConfigError,
        DataError as DataError,
        LabelError as LabelError,
        ModelFileError as ModelFileError,
        SchemaError as SchemaError,
        SessionError as SessionError,
        SoelError as SoelError,
        StorageError as StorageError,
        UnknownItemError as UnknownItemError,
    )
    from soel.estimator import SOEL as SOEL
    from soel.explain import Explanation as Explanation, Reason as Reason
    from soel.images.extractors import Extractor as Extractor
    from soel.images.picture_pool import MediaOptions as MediaOptions
    from soel.networks.base import Backbone as Backbone
    from soel.networks.objectives import Objective as Objective
    from soel.session import Answer as Answer, Session as Session, SessionOptions as SessionOptions
    from soel.session.create import (
        create_session as create_session,
        list_sessions as list_sessions,
        open_session as open_session,
    )
    from soel.session.growth import add_data as add_data, remove_items as remove_items
    from soel.session.labels import take_labels as take_labels
    from soel.settings import PROFILES as PROFILES, Profile as Profile, Schedule as Schedule
    from soel.types import (
        Estimate as Estimate,
        Evidence as Evidence,
        ItemWeights as ItemWeights,
        Kind as Kind,
        Label as Label,
        PoolView as PoolView,
        RankedWeights as RankedWeights,
        Selection as Selection,
        Verdict as Verdict,
    )

__version__ = "0.1.0"

_HOME_OF = {
    name: module
    for module, names in {
        "soel.ask.strategy": "Strategy",
        "soel.assess.share": "ContaminationEstimator",
        "soel.detect.detector": "Detector",
        "soel.errors": "ConfigError DataError LabelError ModelFileError SchemaError"
        " SessionError SoelError StorageError UnknownItemError",
        "soel.estimator": "SOEL",
        "soel.explain": "Explanation Reason",
        "soel.images.extractors": "Extractor",
        "soel.networks.base": "Backbone",
        "soel.networks.objectives": "Objective",
        "soel.session": "Answer Session SessionOptions",
        "soel.session.create": "create_session list_sessions open_session",
        "soel.session.growth": "add_data remove_items",
        "soel.session.labels": "take_labels",
        "soel.images.picture_pool": "MediaOptions",
        "soel.settings": "PROFILES Profile Schedule",
        "soel.types": "Estimate Evidence ItemWeights Kind Label PoolView RankedWeights Selection Verdict",
    }.items()
    for name in names.split()
}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'soel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
