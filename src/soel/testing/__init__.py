"""Conformance kits: what every part of a role must do, to be run on a part of one's own.

A kit is a function, `check_strategy(MyStrategy)`, that raises AssertionError with all laws that the part breaks. For a
test by law, go through the kit's list::

    @pytest.mark.parametrize("law", STRATEGY_LAWS)
    def test_laws(law):
        law(MyStrategy)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soel.testing.learning_laws import (
    CONTAMINATION_LAWS,
    OBJECTIVE_LAWS,
    STRATEGY_LAWS,
    check_contamination_estimator,
    check_objective,
    check_strategy,
)
from soel.testing.scoring_laws import DETECTOR_LAWS, EXTRACTOR_LAWS, check_detector, check_extractor

if TYPE_CHECKING:
    from soel.testing.backbones import BACKBONE_LAWS, check_backbone

__all__ = [
    "BACKBONE_LAWS",
    "CONTAMINATION_LAWS",
    "DETECTOR_LAWS",
    "EXTRACTOR_LAWS",
    "OBJECTIVE_LAWS",
    "STRATEGY_LAWS",
    "check_backbone",
    "check_contamination_estimator",
    "check_detector",
    "check_extractor",
    "check_objective",
    "check_strategy",
]


def __getattr__(name: str) -> Any:
    if name in ("BACKBONE_LAWS", "check_backbone"):  # these load torch
        from soel.testing import backbones

        return getattr(backbones, name)
    raise AttributeError(f"module 'soel.testing' has no attribute {name!r}")
