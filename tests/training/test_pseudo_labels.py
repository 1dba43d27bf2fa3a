"""Weights by ranking, worked by hand."""

import torch

from soel.training.pseudo_labels import ranked_weights
from soel.types import RankedWeights

L0 = torch.tensor([[5.0, 1.0, 3.0, 2.0]])
L1 = torch.zeros(1, 4)


def test_the_top_share_weighs_half_on_each() -> None:
    normal, anomaly = ranked_weights(RankedWeights(0.5), L0, L1, torch.tensor([0.5]))
    assert anomaly.tolist() == [[0.5, 0, 0.5, 0]]
    assert normal.tolist() == [[0.5, 1, 0.5, 1]]


def test_each_member_has_its_own_rate() -> None:
    pair = torch.cat([L0, L0])
    _, anomaly = ranked_weights(RankedWeights(1.0), pair, torch.zeros(2, 4), torch.tensor([0.0, 0.25]))
    assert anomaly.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]


def test_what_lies_between_can_be_left_out() -> None:
    rule = RankedWeights(1.0, anomaly_share=0.25, normal_share=0.5)
    normal, anomaly = ranked_weights(rule, L0, L1, torch.tensor([0.9]))
    assert anomaly.tolist() == [[1, 0, 0, 0]]
    assert normal.tolist() == [[0, 1, 0, 1]]


def test_ranking_is_by_the_difference_of_the_losses() -> None:
    _, anomaly = ranked_weights(RankedWeights(1.0), L0, torch.tensor([[9.0, 0, 0, 0]]), torch.tensor([0.25]))
    assert anomaly.tolist() == [[0, 0, 1, 0]]
