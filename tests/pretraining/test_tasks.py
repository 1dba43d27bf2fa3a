"""Made-up tasks: what they must be whatever was drawn."""

from __future__ import annotations

import random

import pytest
import torch

from pretraining import anomalies, questions, tasks
from soel.detectors.pretrained.reference import Reference

CPU = torch.device("cpu")


@pytest.mark.parametrize("width", [2, 7, 40])
def test_values_are_finite_and_shares_as_asked(width: int) -> None:
    torch.manual_seed(width)
    chance, shares = random.Random(width), []
    for _ in range(40):
        drawn = tasks.draw(3, 90, width, CPU, chance)
        assert drawn.rows.shape == (3, 90, width)
        assert drawn.is_anomaly.dtype == torch.bool
        assert torch.isfinite(drawn.rows).all()
        shares.append(drawn.is_anomaly.float().mean())
    assert 0.04 < float(torch.stack(shares).mean()) < 0.2


def test_the_same_seeds_draw_the_same_tasks() -> None:
    drawn = []
    for _ in range(2):
        torch.manual_seed(5)
        drawn.append(tasks.draw(2, 60, 4, CPU, random.Random(5)))
    assert torch.equal(drawn[0].rows, drawn[1].rows)
    assert torch.equal(drawn[0].is_anomaly, drawn[1].is_anomaly)


def test_a_rule_decides_as_many_rows_as_the_share_says() -> None:
    torch.manual_seed(0)
    share = torch.tensor([0.05, 0.2])
    for seed in range(20):
        decided = anomalies.decided(torch.randn(2, 200, 3), share, random.Random(seed))
        torch.testing.assert_close(decided.float().mean(1), share, atol=0.011, rtol=0)


def test_faults_touch_only_the_rows_they_should() -> None:
    torch.manual_seed(0)
    rows, flags = torch.randn(2, 50, 6), torch.zeros(2, 50, dtype=torch.bool)
    flags[:, :5] = True
    for seed in range(20):
        wrong = anomalies.fault(rows, flags, random.Random(seed))
        assert torch.equal(wrong[:, 5:], rows[:, 5:])
        assert not torch.equal(wrong[:, :5], rows[:, :5])


def test_the_next_row_is_the_farthest_from_those_asked_before() -> None:
    places = torch.tensor([0.0, 1.0, 2.0, 10.0, 4.0])
    distances = (places[:, None] - places).abs()[None]
    asked = torch.tensor([[True, False, False, False, False]])
    assert questions.apart(distances, torch.zeros(1, 5), 3, asked).tolist() == [[3, 4, 2]]


@pytest.mark.parametrize("strategy", questions.STRATEGIES)
def test_no_row_is_asked_twice(strategy: str) -> None:
    torch.manual_seed(0)
    _, pool = Reference.fit(torch.randn(2, 60, 3), torch.Generator().manual_seed(0))
    rows = questions.ask(pool, 12, strategy, random.Random(0))
    assert rows.shape == (2, 12)
    assert all(len(set(each.tolist())) == 12 for each in rows)


def test_answers_are_the_truth_unless_some_are_wrong() -> None:
    truth = torch.rand(1, 1000, generator=torch.Generator().manual_seed(0)) < 0.3
    rows = torch.arange(500)[None]
    nothing = torch.full((1, 1000), -1)
    labels = questions.answer(truth, rows, nothing, 0.0)
    assert torch.equal(labels[:, :500] == 1, truth[:, :500])
    assert (labels[:, 500:] == -1).all()
    torch.manual_seed(0)
    wrong = questions.answer(truth, rows, nothing, 0.2)
    assert 0.1 < ((wrong[:, :500] == 1) != truth[:, :500]).float().mean() < 0.3
