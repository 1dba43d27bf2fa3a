"""Made-up tasks: what they must be whatever was drawn."""

from __future__ import annotations

import random

import pytest
import torch

from pretraining import anomalies, questions, tasks
from soel.detect.incontext.row_features import PoolStats

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
    _, pool = PoolStats.fit(torch.randn(2, 60, 3), torch.Generator().manual_seed(0))
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


def test_a_common_class_is_thinned_to_the_share_and_its_rows_stay_its_own() -> None:
    torch.manual_seed(0)
    rows = torch.randn(2, 900, 3)
    is_odd = rows[..., 0] > 0  # half of them
    thinned, odd = anomalies.thin(rows, is_odd, torch.tensor([0.05, 0.3]), 300)
    assert thinned.shape == (2, 300, 3)
    assert torch.equal(odd, thinned[..., 0] > 0)
    torch.testing.assert_close(odd.float().mean(1), torch.tensor([0.05, 0.3]), atol=0.06, rtol=0)
    for few, many in zip(thinned, rows, strict=True):
        assert len({tuple(row) for row in few.tolist()}) == 300  # none is taken twice
        assert {tuple(row) for row in few.tolist()} <= {tuple(row) for row in many.tolist()}


def test_one_class_is_neither_nobody_nor_everybody() -> None:
    torch.manual_seed(0)
    for seed in range(20):
        share = anomalies.one_class(torch.randn(3, 400, 5), random.Random(seed)).float().mean(1)
        assert ((share > 0) & (share < 1)).all()


def test_a_push_moves_the_flagged_rows_alone_and_to_one_side() -> None:
    torch.manual_seed(0)
    rows, flags = torch.randn(4, 400, 6), torch.zeros(4, 400, dtype=torch.bool)
    flags[:, :40] = True
    pushed = anomalies.push(rows, flags, random.Random(3))
    assert torch.equal(pushed[:, 40:], rows[:, 40:])
    moved = pushed[:, :40].mean(1) - rows[:, :40].mean(1)
    gone = (pushed - rows)[:, :40]
    one_sided = (gone.sign() == moved.sign()[:, None]).float().mean(1)[moved.abs() > 1]
    assert len(one_sided) > 0
    assert (one_sided > 0.9).all()


def test_normal_rows_crowd_at_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or whatever is repeated would look like an anomaly."""
    torch.manual_seed(0)
    chance, shares = random.Random(0), list[float]()
    crowd = anomalies.crowd

    def watch(rows: torch.Tensor, flags: torch.Tensor, chance: random.Random) -> torch.Tensor:
        shares.append(float(flags.float().mean()))
        return crowd(rows, flags, chance)

    monkeypatch.setattr(anomalies, "crowd", watch)  # crowds of anomalies are found by their name, and not watched
    for _ in range(100):
        tasks.draw(2, 60, 4, CPU, chance)
    assert 5 <= len(shares) <= 20
    assert 0.1 < sum(shares) / len(shares) < 0.5


def test_a_crowd_is_closer_together_in_the_columns_that_it_shares() -> None:
    torch.manual_seed(0)
    rows, flags = torch.randn(2, 300, 8), torch.zeros(2, 300, dtype=torch.bool)
    flags[:, :30] = True
    for seed in range(10):
        crowded = anomalies.crowd(rows, flags, random.Random(seed))
        assert torch.equal(crowded[:, 30:], rows[:, 30:])
        shared = (crowded != rows).any(1)  # (B, d)
        assert shared.any(1).all()
        for table, columns in zip(crowded, shared, strict=True):
            apart = torch.cdist(table[:, columns], table[:, columns])
            assert apart[:30, :30].quantile(0.25) < apart[30:, 30:].quantile(0.25)  # at most three places


def test_rows_with_rare_levels_are_the_odd_ones() -> None:
    torch.manual_seed(0)
    rows = torch.zeros(1, 200, 1)
    rows[0, :10, 0] = torch.arange(10) // 5 + 1.0  # two levels of five rows each beside one of 190
    assert anomalies.rare(rows, torch.tensor([0.05]), random.Random(0))[0].nonzero()[:, 0].tolist() == list(range(10))


def test_values_that_broken_rows_borrow_are_not_equal_to_the_lenders() -> None:
    """Equal values in columns that have none would give such rows away, and nothing real looks like that."""
    torch.manual_seed(0)
    rows, flags = torch.randn(1, 200, 4), torch.zeros(1, 200, dtype=torch.bool)
    flags[:, :20] = True
    broken = anomalies.break_dependence(rows, flags, random.Random(0))
    assert all(len(column.unique()) == 200 for column in broken[0].T)


def test_an_expert_names_what_tells_an_anomaly_from_normal_rows() -> None:
    torch.manual_seed(0)
    x, truth = torch.randn(8, 120, 5), torch.zeros(8, 120, dtype=torch.bool)
    truth[:, :12] = True
    x[:, :12, 3] += 6
    pool = PoolStats.fit(x, torch.Generator().manual_seed(0))[1]
    labels = torch.full((8, 120), -1)
    labels[:, :6], labels[:, 12:30] = 1, 0
    drawn = [questions.name_columns(pool, truth, labels, random.Random(seed)) for seed in range(20)]
    named = torch.cat([names for names in drawn if names is not None])
    assert 0 < len(named) < 160
    assert named[:, labels[0] < 0].sum() == 0
    assert named[:, :6].sum(-1).max() == 2
    first = named[:, :6][named[:, :6].sum(-1) == 1]
    assert 0.8 < first[:, 3].mean() < 1
    assert 0 < named[:, 12:30].mean() < 0.1


def test_copies_of_other_days_differ_in_one_column() -> None:
    torch.manual_seed(0)
    rows, odd = torch.randn(3, 50, 4).repeat(1, 2, 1), torch.zeros(3, 100, dtype=torch.bool)
    now = tasks._with_other_days(rows, odd)[0]
    changed = (now != rows).any(1)
    assert changed.sum(-1).tolist() == [1, 1, 1]
    assert ((now[:, :50] != now[:, 50:]).any(1) == changed).all()
