"""Tasks cut from real tables: whose rows and columns they hold, and which rows are anomalies."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from pretraining.real import RealTables

from pretraining import batches, real, train
from soel.detect.incontext.network import Shape

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> RealTables:
    """Two tables whose cells say where they stand: table, column and row."""
    path = tmp_path_factory.mktemp("tables") / "real.npz"
    cells = [
        1000 * number + 100 * np.arange(width)[None] + np.arange(rows)[:, None] / rows
        for number, (rows, width) in enumerate(((90, 4), (60, 6)), 1)
    ]
    np.savez(path, x0=cells[0], x1=cells[1], y0=np.zeros(90))
    return RealTables.load(path, CPU)


def test_rows_come_from_one_table_each_and_none_twice(tables: RealTables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "PLANTED", 0.0)
    torch.manual_seed(0)
    chance, seen = random.Random(0), set()
    for _ in range(10):
        drawn = tables.draw(6, 50, 3, chance)
        assert drawn is not None
        assert drawn.rows.shape == (6, 50, 3)
        for rows, flags in zip(drawn.rows.double().numpy(), drawn.is_anomaly.numpy(), strict=True):
            number = rows // 1000
            assert (number == number[0, 0]).all()
            column = rows % 1000 // 100
            assert (column == column[0]).all()
            assert len(set(column[0])) == 3  # and the fourth of the first table decides
            place = rows[:, 0] % 1
            assert len(np.unique(place.round(4))) == 50
            assert flags.mean() <= 0.5
            odd = place[flags]  # all columns rise with the row: the anomalies are at the ends
            usual = place[~flags]
            assert ((odd < usual.min()) | (odd > usual.max())).all()
            seen.add(int(number[0, 0]))
    assert seen == {1, 2}


def test_only_tables_that_are_large_enough_are_taken(tables: RealTables) -> None:
    assert tables.draw(2, 91, 3, random.Random(0)) is None
    assert tables.draw(2, 50, 6, random.Random(0)) is None
    drawn = tables.draw(4, 50, 5, random.Random(0))
    assert drawn is not None
    assert drawn.rows.shape == (4, 50, 5)


def test_a_column_decides_by_its_levels_or_its_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    levels = torch.tensor([0.0] * 60 + [1.0] * 30 + [2.0] * 10).repeat(50, 1)
    levels = torch.cat([levels, torch.full((50, 20), torch.inf)], 1)
    n_rows, share = torch.full((50,), 100), torch.full((50,), 0.1)
    odd = real.decide(levels, n_rows, share, random.Random(0))
    assert not odd[:, 100:].any()
    for values, flags in zip(levels.tolist(), odd.tolist(), strict=True):
        chosen = {value for value, flag in zip(values, flags, strict=True) if flag}
        assert not {value for value, flag in zip(values[:100], flags, strict=False) if not flag} & chosen
    shares = odd[:, :100].float().mean(1)
    assert (shares > 0).all()
    assert (shares <= 0.5).all()
    numbers = torch.randn(50, 100)
    monkeypatch.setattr(real, "OF_NUMBERS", (real.BOTH,) * 4)
    both = real.decide(numbers, n_rows, share, random.Random(0))
    assert ((both & (numbers > 0)).any(1) & (both & (numbers < 0)).any(1)).all()
    torch.testing.assert_close(both.float().mean(1), share, atol=0.021, rtol=0)


def test_a_common_level_is_thinned_to_the_share() -> None:
    torch.manual_seed(0)
    is_odd, there = torch.zeros(3, 1000, dtype=torch.bool), torch.ones(3, 1000, dtype=torch.bool)
    is_odd[:, :450] = True
    there[:, 900:] = False
    rows = real.choose_rows(is_odd, there, torch.tensor([0.05, 0.1, 0.3]), 400)
    assert (rows < 900).all()
    shares = is_odd.gather(1, rows).float().mean(1)
    torch.testing.assert_close(shares, torch.tensor([0.05, 0.1, 0.3]), atol=0.06, rtol=0)
    filled = is_odd.gather(1, real.choose_rows(is_odd, there, torch.tensor([0.05, 0.05, 0.05]), 800))
    assert (filled.sum(1) == 350).all()  # the 450 others are not enough
    assert filled[:, :400].any(1).all()


def test_columns_that_go_with_others_are_targets_more_often(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    x[:, 1] = x[:, 0] ** 3
    np.savez(tmp_path / "real.npz", x0=x)
    weights = RealTables.load(tmp_path / "real.npz", CPU).log_weights[0].exp()
    assert (weights[:2] > 1.1).all()
    assert (weights[2:] < 0.5).all()


def test_half_of_a_batch_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "POOL_ROWS", (64,))
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "real.npz", x0=rng.normal(size=(200, 12)), x1=rng.normal(size=(150, 9)))
    plan = batches.Plan(seconds=2.0, batches_a_step=1, rows_a_batch=400, cells_a_batch=5000, real=tmp_path / "real.npz")
    tables = RealTables.load(tmp_path / "real.npz", CPU)
    asked: list[int] = []
    draw = RealTables.draw

    def watch(self: RealTables, n_tasks: int, *rest: object) -> object:
        asked.append(n_tasks)
        return draw(self, n_tasks, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(RealTables, "draw", watch)
    batch = batches.make(plan, CPU, random.Random(0), tables)
    assert asked == [len(batch.is_anomaly) // 2]
    run = train.begin(Shape(width=32, n_heads=4, n_layers=1, cell_width=16), plan, CPU)
    train.train(run, plan, CPU)
    assert run.step > 0
    assert len(asked) > 1
