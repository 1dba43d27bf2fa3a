"""Weights by ranking, worked by hand."""

import torch

from soel.networks.loop import ranked_weights
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


def test_the_scale_multiplies_all_weights() -> None:
    plain = ranked_weights(RankedWeights(0.5), L0, L1, torch.tensor([0.5]))
    scaled = ranked_weights(RankedWeights(0.5, scale=3.0), L0, L1, torch.tensor([0.5]))
    for one, other in zip(plain, scaled, strict=True):
        torch.testing.assert_close(other, 3 * one)


def test_the_number_of_suspects_is_rounded() -> None:
    for rate, n_suspects in ((0.1, 0), (0.2, 1), (0.37, 1), (0.38, 2), (1.0, 4)):
        _, anomaly = ranked_weights(RankedWeights(1.0), L0, L1, torch.tensor([rate]))
        assert int(anomaly.sum()) == n_suspects, rate


def test_a_share_of_its_own_goes_before_the_rate() -> None:
    _, anomaly = ranked_weights(RankedWeights(1.0, anomaly_share=0.5), L0, L1, torch.tensor([0.0]))
    assert anomaly.tolist() == [[1, 0, 1, 0]]


def test_equal_losses_still_make_the_right_number_of_suspects() -> None:
    _, anomaly = ranked_weights(RankedWeights(1.0), torch.ones(1, 6), torch.ones(1, 6), torch.tensor([0.5]))
    assert int(anomaly.sum()) == 3


def test_no_gradient_flows_through_the_ranking() -> None:
    l0 = L0.clone().requires_grad_()
    normal, anomaly = ranked_weights(RankedWeights(0.5), l0, L1, torch.tensor([0.5]))
    assert not normal.requires_grad
    assert not anomaly.requires_grad
