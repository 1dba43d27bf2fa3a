"""Training on a CPU, in small: it changes what it should, goes on from where it was, and ends in a weights file."""

from __future__ import annotations

import hashlib
import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from pretraining.__main__ import main
from pretraining.export import export
from pretraining.muon import orthogonal
from safetensors import safe_open
from sklearn.metrics import average_precision_score, roc_auc_score

from pretraining import batches, checkpoint, tables, train
from soel.detect.incontext.network import N_SHARE_BINS, InContextNetwork, Outputs, Shape
from soel.detect.incontext.share_head import PRIOR

CPU = torch.device("cpu")
SMALL = Shape(width=32, n_heads=4, n_layers=2, cell_width=16)


@pytest.fixture(autouse=True)
def small_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "POOL_ROWS", (64,))


def plan(**more: float) -> batches.Plan:
    lines: list[str] = []
    settings = {"seconds": 4.0, "batches_a_step": 1, "rows_a_batch": 200, "cells_a_batch": 2000, "warmup_steps": 2}
    return batches.Plan(**(settings | more), log=lines.append)  # type: ignore[arg-type]


def test_every_parameter_changes_and_a_run_goes_on(tmp_path: Path) -> None:
    run = train.begin(SMALL, plan(), CPU)
    before = {name: value.clone() for name, value in run.module.named_parameters()}
    kept: list[int] = []
    train.train(run, plan(decay_seconds=2.0, own_questions=1.0), CPU, lambda run: kept.append(run.step))
    assert not [name for name, value in run.module.named_parameters() if torch.equal(value, before[name])]
    assert len(kept) == 1
    assert kept[0] < run.step
    train.keep(run, tmp_path)
    again = train.resume(tmp_path, plan(), CPU)
    assert again.step == run.step
    assert again.spent == run.spent
    for one, two in zip(run.module.parameters(), again.module.parameters(), strict=True):
        assert torch.equal(one, two)
    n_moments = [sum(len(optimiser.state) for optimiser in each.optimisers) for each in (run, again)]
    assert n_moments[0] == n_moments[1] > 0
    train.train(again, plan(seconds=1.0), CPU)
    assert again.step > run.step


def test_the_loss_falls() -> None:
    run = train.begin(SMALL, plan(), CPU)
    settings = plan(rate=3e-3, matrix_rate=3e-3, own_questions=0.0)

    def loss(network: InContextNetwork) -> float:
        chance = random.Random(1)
        torch.manual_seed(1)
        with torch.no_grad():
            drawn = [batches.make(settings, CPU, chance) for _ in range(6)]
            return float(np.mean([train.batch_loss(network, batch, settings, chance).item() for batch in drawn]))

    before = loss(run.module.network)
    train.train(run, settings, CPU)
    assert loss(run.module.network) < before - 0.02


def test_rows_with_a_label_count_a_tenth_and_others_fully() -> None:
    """By hand: eight rows of a pool, of which the first is labelled, and two that look on; odds of one to one."""
    labels, truth = torch.full((1, 8), -1), torch.zeros(1, 10, dtype=torch.bool)
    labels[0, 0] = 0

    def loss(row: int) -> float:
        """Of a network that is sure, and wrong, about one normal row."""
        said = torch.zeros(1, 10)
        said[0, row] = 4.0
        outputs = Outputs(said, said, torch.zeros(1, N_SHARE_BINS))
        return float(train.loss_of(outputs, truth, labels))

    even = math.log(2)
    wrong = math.log1p(math.exp(4.0)) - even
    weights = 0.65 + 1.0  # of the normal rows for ranking, and of all for chances
    share = train.SHARE_WEIGHT * math.log(N_SHARE_BINS)
    assert loss(0) == pytest.approx(weights * (even + 0.1 * wrong / 9.1) + share, rel=1e-5)
    for row in (1, 9):
        assert loss(row) == pytest.approx(weights * (even + wrong / 9.1) + share, rel=1e-5)


def test_shares_fall_into_their_bins() -> None:
    bins = train.share_bin(torch.tensor([0.0, 0.001, 0.05, 0.1, 0.5, 0.9]))
    assert bins.tolist() == sorted(bins.tolist())
    assert bins[0] == 0
    assert bins[-1] == N_SHARE_BINS - 1


def test_orthogonal_matrices_have_singular_values_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((3, 8, 20), (2, 20, 8)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
        assert ((values > 0.5) & (values < 1.4)).all()


def test_weights_are_exported_with_their_checksum(tmp_path: Path) -> None:
    run = train.begin(SMALL, plan(), CPU)
    train.keep(run, tmp_path / "run")
    digest = export([tmp_path / "run"], tmp_path / "weights.safetensors")
    assert digest == hashlib.sha256((tmp_path / "weights.safetensors").read_bytes()).hexdigest()
    with safe_open(tmp_path / "weights.safetensors", "pt") as file:
        assert Shape(**json.loads(file.metadata()["shape"])) == SMALL


def test_of_several_checkpoints_the_mean_is_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    averages = []
    for seed in (1, 2):
        run = train.begin(SMALL, plan(seed=seed), CPU)
        train.keep(run, tmp_path / f"run-{seed}")
        averages.append(run.average)
    assert main(["export", str(tmp_path / "run-1"), str(tmp_path / "run-2"), str(tmp_path / "weights")]) == 0
    assert capsys.readouterr().out.strip() == hashlib.sha256((tmp_path / "weights").read_bytes()).hexdigest()
    with safe_open(tmp_path / "weights", "pt") as file:
        for name in averages[0]:
            mean = (averages[0][name] + averages[1][name]) / 2
            torch.testing.assert_close(file.get_tensor(name).float(), mean, atol=1e-3, rtol=1e-3)


def test_large_weights_are_split_over_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "LARGEST_FILE", 20_000)
    run = train.begin(SMALL, plan(), CPU)
    train.keep(run, tmp_path)
    assert len(list(tmp_path.glob("weights-*"))) > 1
    module, average, moments, _ = checkpoint.load(tmp_path, CPU)
    assert all(torch.equal(value, run.module.state_dict()[name]) for name, value in module.state_dict().items())
    assert moments == {}
    for path in tmp_path.glob("average-*"):
        path.unlink()
    assert set(checkpoint.load(tmp_path, CPU)[1]) == set(average)


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no room")

    run = train.begin(SMALL, plan(), CPU)
    train.keep(run, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(OSError, match="no room"):
        train.keep(run, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    monkeypatch.undo()
    train.keep(run, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(before)


def test_figures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 2, 80), rng.normal(size=80).round(1)
    assert tables.auroc(truth, scores) == pytest.approx(roc_auc_score(truth, scores))
    assert tables.average_precision(truth, scores) == pytest.approx(average_precision_score(truth, scores))


def test_a_checkpoint_is_measured_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(30, int), np.zeros(170, int)]
    x = rng.normal(size=(200, 3)) + 5 * y[:, None]
    np.savez(tmp_path / "one.npz", X=x, y=y)
    train.keep(train.begin(SMALL, plan(), CPU), tmp_path / "run")
    assert main(["pack", str(tmp_path), str(tmp_path / "packed.npz")]) == 0
    packed = next(iter(tables.read(tmp_path / "packed.npz")))
    assert packed.pool.shape == (100, 3)
    assert packed.pool_truth.sum() == packed.test_truth.sum() == 15
    words = [
        "evaluate",
        str(tmp_path / "run"),
        str(tmp_path / "packed.npz"),
        "--budgets",
        "0",
        "3",
        "--rules",
        "balanced",
    ]
    assert main([*words, "--rules", "balanced"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {"k-center 0", "k-center 3", "balanced 3"} <= set(figures)
    assert 0 <= figures["balanced 3"][0] <= 100


def test_the_package_takes_out_the_shares_that_training_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # pools of every size
    np.testing.assert_allclose(PRIOR, train.share_prior(200_000, seed=1).numpy(), rtol=0.12, atol=3e-4)
    assert sum(PRIOR) == pytest.approx(1, abs=0.03)  # but for pools without any anomaly
