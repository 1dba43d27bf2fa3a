"""Weights of the unlabelled rows that follow the current ranking."""

from __future__ import annotations

import torch
from torch import Tensor

from soel.types import RankedWeights

Weights = tuple[Tensor, Tensor]


def ranked_weights(rule: RankedWeights, l0: Tensor, l1: Tensor, rates: Tensor) -> Weights:
    """Weights on L0 and on L1, each (S, n), of rows with losses (S, n); rates: (S,) expected shares."""
    n_rows = l0.shape[-1]
    shares = rates if rule.anomaly_share is None else torch.full_like(rates, rule.anomaly_share)
    n_anomalies = (shares * n_rows).round().unsqueeze(-1)  # (S, 1)
    rank = (l0 - l1).detach().argsort(dim=-1, descending=True).argsort(dim=-1)  # 0 is the most anomalous
    suspected = (rank < n_anomalies).to(l0.dtype)
    on_anomaly = rule.weight * suspected
    on_normal = 1 - on_anomaly
    if rule.normal_share is not None:
        accepted = (rank >= n_rows * (1 - rule.normal_share)).to(l0.dtype)
        on_normal = on_normal * torch.maximum(suspected, accepted)
    return rule.scale * on_normal, rule.scale * on_anomaly
