"""The training loop: steps, batches, pseudo-labels and recorded steps, against plain loops written by hand."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor

from soel.networks import Model, fit, loop, losses, warm_up
from soel.networks.loop import Recorded, Recording, ranked_weights
from soel.networks.objectives import Task
from soel.networks.row_networks import Autoencoder, Classifier, TableNTL
from soel.settings import Schedule
from soel.types import ItemWeights, RankedWeights

N, D, K = 23, 4, 5
X = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
SUMMED = Schedule(epochs=3, learning_rate=1e-2, batch_size=7)
SPLIT = replace(SUMMED, step="split")


def new_model(n_members: int = 1, kind: Any = Classifier, seed: int = 0) -> Model:
    rngs = [np.random.default_rng([seed, member]) for member in range(n_members)]
    return Model(kind(D, rngs), rngs, learning_rate=1e-2)


def task(on_unlabelled: ItemWeights | RankedWeights | None, rate: float = 0.2) -> Task:
    known = np.arange(K)
    anomaly = (known % 2).astype(np.float32)
    return Task(known, ItemWeights(1 - anomaly, anomaly), np.arange(K, N), on_unlabelled, rate)


def normal(n: int) -> ItemWeights:
    return ItemWeights(np.ones(n, np.float32), np.zeros(n, np.float32))


def by_hand(model: Model, work: Task, schedule: Schedule, summed: bool) -> list[float]:
    """The loop of one member, plainly: returns the mean loss of each epoch."""
    backbone, rng, size = model.backbone.train(), model.rngs[0], schedule.batch_size
    assert size is not None
    optimizer = torch.optim.Adam(backbone.parameters(), lr=schedule.learning_rate)
    x, history = torch.from_numpy(X), []

    def loss(rows: np.ndarray, on_normal: Tensor, on_anomaly: Tensor) -> Tensor:
        l0, l1 = backbone.losses(x[rows][None])
        return (on_normal * l0[0] + on_anomaly * l1[0]).mean()

    def labelled() -> Tensor:
        weights = work.on_labelled
        assert weights is not None
        return loss(work.labelled, torch.from_numpy(weights.normal), torch.from_numpy(weights.anomaly))

    def unlabelled(at: np.ndarray) -> Tensor:
        rows, weights = work.unlabelled[at], work.on_unlabelled
        if isinstance(weights, ItemWeights):
            return loss(rows, torch.from_numpy(weights.normal[at]), torch.from_numpy(weights.anomaly[at]))
        assert isinstance(weights, RankedWeights)
        l0, l1 = backbone.losses(x[rows][None])
        top = (l0 - l1)[0].detach().argsort(descending=True)[: round(work.rate * len(rows))]
        anomaly = torch.zeros(len(rows))
        anomaly[top] = weights.weight
        return ((1 - anomaly) * l0[0] + anomaly * l1[0]).mean()

    for _ in range(schedule.epochs):
        order, total, n_steps = rng.permutation(len(work.unlabelled)), 0.0, 0
        for start in range(0, len(order), size):
            at = order[start : start + size]
            steps: list[list[Any]] = [[labelled], [lambda at=at: unlabelled(at)]]
            for parts in [[*steps[0], *steps[1]]] if summed else steps:
                optimizer.zero_grad()
                value = sum(part() for part in parts)
                value.backward()
                optimizer.step()
                total += float(value.detach())
            n_steps += 1
        history.append(total / n_steps)
    return history


def assert_same_weights(one: Model, other: Model) -> None:
    for (name, mine), theirs in zip(one.backbone.named_parameters(), other.backbone.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("on_unlabelled", [normal(N - K), RankedWeights(0.5)], ids=["fixed", "ranked by batch"])
@pytest.mark.parametrize("schedule", [SUMMED, SPLIT], ids=["summed", "split"])
def test_the_loop_is_the_one_written_out(schedule: Schedule, on_unlabelled: ItemWeights | RankedWeights) -> None:
    schedule = replace(schedule, pseudo_labels="batch")
    ours, plain = new_model(), new_model()
    fit(ours, X, [task(on_unlabelled)], schedule)
    history = by_hand(plain, task(on_unlabelled), schedule, schedule.step == "summed")
    assert_same_weights(ours, plain)
    np.testing.assert_allclose(np.array(ours.history)[:, 0], history, rtol=1e-4)


def batches_of(work: Task, batch_size: int, n_rows: int = 10**6) -> list[loop.StepRows]:
    schedule = replace(SUMMED, batch_size=batch_size, rows_per_epoch=n_rows)
    return list(loop._Training(new_model(), X, [work], schedule, summed=True)._epoch())


def test_many_labelled_rows_are_taken_in_parts() -> None:
    many = Task(np.arange(12), normal(12), np.arange(12, N), normal(N - 12))
    batches = batches_of(many, 5)
    assert all(batch.labelled.shape == (1, 5) for batch in batches)
    assert all(len(set(batch.labelled[0].tolist())) == 5 for batch in batches)
    assert batches[0].labelled.tolist() != batches[1].labelled.tolist()
    assert max(int(batch.labelled.max()) for batch in batches) < 12


@pytest.mark.parametrize(("n_labelled", "n_steps"), [(4, 1), (10, 2), (11, 3)])
def test_labels_alone_fill_their_own_steps(n_labelled: int, n_steps: int) -> None:
    alone = Task(np.arange(n_labelled), normal(n_labelled), np.arange(0), None)
    assert len(batches_of(alone, 5)) == n_steps
    model = new_model()
    before = copy.deepcopy(model.backbone.state_dict())
    fit(model, X, [alone], replace(SUMMED, batch_size=5))
    assert all(not torch.equal(before[name], value) for name, value in model.backbone.named_parameters())


def test_pseudo_labels_are_refreshed_each_epoch_from_all_rows_in_eval_mode() -> None:
    model, seen = new_model(kind=Autoencoder), []

    def spy(rule: RankedWeights, l0: Tensor, l1: Tensor, rates: Tensor) -> tuple[Tensor, Tensor]:
        seen.append((l0.shape[1], l0.clone()))
        return ranked_weights(rule, l0, l1, rates)

    first = losses(model, X)[0][:, K:]
    with patch.object(loop, "ranked_weights", spy):
        fit(model, X, [task(RankedWeights(0.5))], replace(SUMMED, pseudo_labels="epoch"))
    assert [n for n, _ in seen] == [N - K] * 3
    np.testing.assert_allclose(seen[0][1].numpy(), first, rtol=1e-5)
    assert not torch.equal(seen[0][1], seen[1][1])


def test_the_warm_up_takes_every_row_as_normal() -> None:
    ours, plain = new_model(), new_model()
    schedule = replace(SUMMED, warm_up_epochs=2)
    warm_up(ours, X, schedule)
    everyone = Task(np.arange(0), None, np.arange(N), normal(N))
    fit(plain, X, [everyone], replace(schedule, epochs=2))
    assert_same_weights(ours, plain)
    assert ours.history == plain.history


@pytest.mark.parametrize("kind", [Classifier, Autoencoder])
def test_members_with_rows_and_tasks_of_their_own_are_as_alone(kind: Any) -> None:
    pools = np.stack([X, X[::-1] * 2])
    works = [task(RankedWeights(0.5), rate) for rate in (0.1, 0.4)]
    schedule = replace(SUMMED, pseudo_labels="batch")
    stack = new_model(2, kind)
    fit(stack, pools, works, schedule)
    for member, (pool, work) in enumerate(zip(pools, works, strict=True)):
        rngs = [np.random.default_rng([0, member])]
        alone = Model(kind(D, rngs), rngs, learning_rate=1e-2)
        fit(alone, pool, [work], schedule)
        found, expected = losses(stack, pools)[0][member], losses(alone, pool)[0][0]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(np.array(stack.history)[:, member], np.array(alone.history)[:, 0], rtol=1e-3)


def test_rows_weigh_as_they_are_told() -> None:
    # Only row 3 counts: its loss falls, and the loss is that of row 3 over the size of the batch.
    only = ItemWeights(np.eye(N, dtype=np.float32)[3], np.zeros(N, np.float32))
    model = new_model()
    model.backbone.train()
    first = float(model.backbone.losses(torch.from_numpy(X)[None])[0][0, 3].detach())
    fit(model, X, [Task(np.arange(0), None, np.arange(N), only)], replace(SUMMED, batch_size=N, epochs=30))
    assert model.history[0][0] == pytest.approx(first / N, rel=1e-5)
    assert losses(model, X)[0][0, 3] < 0.5 * first


@pytest.mark.parametrize(("n_rows", "n_steps"), [(3, 3), (50, 5), (100, 5), (101, 5), (5000, 5)])
def test_a_large_pool_takes_as_many_steps_as_a_small_one(n_rows: int, n_steps: int) -> None:
    x = np.random.default_rng(0).normal(size=(n_rows, 4)).astype(np.float32)
    rng = np.random.default_rng(0)
    model = Model(TableNTL(4, [rng]), [rng], learning_rate=1e-3)
    with patch.object(model.optimizer, "step", wraps=model.optimizer.step) as step:
        warm_up(model, x, Schedule(epochs=1, learning_rate=1e-3, warm_up_epochs=2, rows_per_epoch=100))
    assert step.call_count == 2 * n_steps


class Tape(Recording):
    """A recording without a GPU: it computes again, from the places of its inputs into that of its output."""

    def __init__(self, compute: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> None:
        self._inputs, self._compute = [tensor.clone() for tensor in inputs], compute
        self._output = torch.full_like(inputs[0], torch.nan)
        self._graph = self

    def replay(self, inputs: tuple[Tensor, ...] | None = None) -> Tensor:
        if inputs is not None:
            return super().replay(inputs)
        return self._output.copy_(self._compute(*self._inputs))


def test_every_call_gives_what_the_computation_gives() -> None:
    recorded = Recorded(lambda x, y: 2 * x + y, Tape)
    results = []
    for value in range(5):
        x = torch.full((3,), float(value))
        results.append(recorded(x, torch.ones(3)))
        x.zero_()
    assert [result.tolist() for result in results] == [[2.0 * value + 1] * 3 for value in range(5)]


def test_each_shape_is_computed_once_and_then_recorded() -> None:
    made: list[torch.Size] = []

    class Counted(Tape):
        def __init__(self, compute: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> None:
            made.append(inputs[0].shape)
            super().__init__(compute, inputs)

    recorded = Recorded(lambda x: x + 1, Counted)
    for size in (2, 2, 3, 2, 3, 2, 4):
        assert recorded(torch.zeros(size)).tolist() == [1.0] * size
    assert made == [torch.Size([2]), torch.Size([3])]


L0 = torch.tensor([[5.0, 1.0, 3.0, 2.0]])


@pytest.mark.parametrize(
    ("rule", "l1", "rate", "normal", "anomaly"),
    [
        (RankedWeights(0.5), [0, 0, 0, 0], 0.5, [0.5, 1, 0.5, 1], [0.5, 0, 0.5, 0]),
        (RankedWeights(0.5, scale=3.0), [0, 0, 0, 0], 0.5, [1.5, 3, 1.5, 3], [1.5, 0, 1.5, 0]),
        (RankedWeights(1.0), [9, 0, 0, 0], 0.25, [1, 1, 0, 1], [0, 0, 1, 0]),  # by the difference of the losses
        (RankedWeights(1.0, anomaly_share=0.5), [0, 0, 0, 0], 0.0, [0, 1, 0, 1], [1, 0, 1, 0]),  # not by the rate
        (RankedWeights(1.0, anomaly_share=0.25, normal_share=0.5), [0, 0, 0, 0], 0.9, [0, 1, 0, 1], [1, 0, 0, 0]),
    ],
)
def test_weights_by_rank(
    rule: RankedWeights, l1: list[float], rate: float, normal: list[float], anomaly: list[float]
) -> None:
    found = ranked_weights(rule, L0, torch.tensor([l1], dtype=torch.float32), torch.tensor([rate]))
    assert [weights.tolist() for weights in found] == [[normal], [anomaly]]


def test_equal_losses_still_make_the_right_number_of_suspects() -> None:
    _, anomaly = ranked_weights(RankedWeights(1.0), torch.ones(1, 6), torch.ones(1, 6), torch.tensor([0.5]))
    assert int(anomaly.sum()) == 3
