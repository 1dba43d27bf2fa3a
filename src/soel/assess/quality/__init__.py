"""Numbers that keep their word: exact intervals from a spot check, p-values, lists with few false ones, costs."""

from soel.assess.quality.bounds import COVERAGE, Bounds
from soel.assess.quality.check import Quality, SpotCheck, Stratum, allocate, draw_check, foresee
from soel.assess.quality.unsure import UnsureBand

__all__ = ["COVERAGE", "Bounds", "Quality", "SpotCheck", "Stratum", "UnsureBand", "allocate", "draw_check", "foresee"]
