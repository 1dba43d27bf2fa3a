"""How good a ranking, a threshold and a cover are."""

from soel.assess.metrics.cover import class_cover_radius, cover_radius
from soel.assess.metrics.ranking import auroc, f1_at_share, f1_score

__all__ = ["auroc", "class_cover_radius", "cover_radius", "f1_at_share", "f1_score"]
