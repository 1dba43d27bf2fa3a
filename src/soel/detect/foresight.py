"""How well scores foretell labels that they were not told, and how much they count for it."""

from __future__ import annotations

from soel.types import ANOMALY, NORMAL, Floats, Labels

HIGHEST_TRUST = 8.0  # chosen as benchmarks/choices.md says
ASSUMED, PSEUDO_LABELS = 0.875, 2.0  # the foresight taken for granted, and how many labels it takes to doubt it


def judge_foresight(scores: Floats, labels: Labels) -> float:
    """The chance that a labelled anomaly scores above a labelled normal picture, drawn towards what is assumed."""
    anomalies, normals = scores[labels == ANOMALY], scores[labels == NORMAL]
    n_labels = min(len(anomalies), len(normals))
    gaps = anomalies[:, None] - normals
    chance = float(((gaps > 0) + 0.5 * (gaps == 0)).mean()) if n_labels else ASSUMED
    return (n_labels * chance + PSEUDO_LABELS * ASSUMED) / (n_labels + PSEUDO_LABELS)


def trust_in(foresight: float) -> float:
    """How much a score with this foresight counts beside that of the whole picture."""
    return HIGHEST_TRUST * max(2 * foresight - 1, 0.0) ** 3
