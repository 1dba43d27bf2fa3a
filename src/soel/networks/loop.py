"""Warm-up and fit: mini-batches, steps, pseudo-labels. Nothing here is specific to a network or a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from soel.deep import Tensor, torch
from soel.networks.batch import Rows, Shard, rows_of
from soel.networks.model import Model, precision, threads_for
from soel.networks.objectives import Task
from soel.networks.ranks import ALONE, working_with
from soel.settings import Schedule
from soel.types import Floats, ItemWeights, Progress, RankedWeights

Part = tuple[Tensor, Callable[[Tensor, Tensor], Tensor]]  # rows (S, B), and what becomes of their losses: (S,)
Keep = Callable[[int], None]  # called with the number of finished epochs, when the model is as they left it
Weights = tuple[Tensor, Tensor]
Shape = tuple[torch.Size, ...]


def warm_up(
    model: Model,
    pool: Floats | Shard,
    schedule: Schedule,
    progress: Progress | None = None,
    *,
    first_epoch: int = 0,
    keep: Keep | None = None,
) -> None:
    """Train on all rows as if normal. pool: (N, d) for all members, or (S, N, d), or the part of it that is here.

    first_epoch: more than 0 goes on with a model that `keep` was called for after as many epochs.
    """
    rows = rows_of(model, pool)
    if first_epoch == 0:
        model.backbone.eval()
        with torch.no_grad(), working_with(model.backbone, rows.ranks):
            model.backbone.prepare(rows.everything())
    everyone = ItemWeights(np.ones(len(rows), np.float32), np.zeros(len(rows), np.float32))
    task = Task(np.empty(0, np.int64), None, np.arange(len(rows)), everyone)
    epochs = range(first_epoch, schedule.warm_up_epochs)
    _run(model, rows, [task] * model.n_members, schedule, epochs, True, progress, keep)


def fit(
    model: Model,
    pool: Floats | Shard,
    tasks: Sequence[Task],
    schedule: Schedule,
    always_summed: bool = False,
    progress: Progress | None = None,
    *,
    first_epoch: int = 0,
    keep: Keep | None = None,
) -> None:
    """Train on labelled and unlabelled rows. One task per member; all with the same numbers of rows."""
    epochs = range(first_epoch, schedule.epochs)
    _run(model, rows_of(model, pool), tasks, schedule, epochs, always_summed, progress, keep)


class Batch(NamedTuple):
    """Rows of one step, all (S, .): all labelled rows (or a part, when they are many) and a part of the rest.

    `*_at` are positions within a task's labelled or unlabelled rows, the others are rows of the pool.
    """

    labelled_at: Tensor
    labelled: Tensor
    unlabelled_at: Tensor
    unlabelled: Tensor


class _Batches:
    """The members' tasks as stacked tensors, dealt out in freshly shuffled batches."""

    def __init__(self, model: Model, tasks: Sequence[Task], batch_size: int, n_rows: int) -> None:
        self.model, self.batch_size, self.n_rows = model, batch_size, n_rows
        self.rule = tasks[0].on_unlabelled
        self.rates = self._tensor(np.array([task.rate for task in tasks], np.float32))
        self.labelled = np.stack([task.labelled for task in tasks])  # (S, K)
        self.unlabelled = np.stack([task.unlabelled for task in tasks])  # (S, n)
        self.on_labelled = self._weights([task.on_labelled for task in tasks])
        fixed = [task.on_unlabelled for task in tasks]
        self.on_unlabelled = self._weights([w for w in fixed if isinstance(w, ItemWeights)])

    def epoch(self) -> Iterator[Batch]:
        """A pass over the unlabelled rows (`n_rows` at most); without any, as many steps as the labelled rows fill.

        The shuffled order goes to the device once per epoch: no step waits for the host.
        """
        n_unlabelled, n_labelled = self.unlabelled.shape[1], self.labelled.shape[1]
        shuffled = self._shuffle(n_unlabelled)[:, : self.n_rows]
        order, rows = self._tensor(shuffled), self._tensor(np.take_along_axis(self.unlabelled, shuffled, axis=1))
        everyone = np.tile(np.arange(n_labelled), (len(self.labelled), 1))
        known_at, known = self._tensor(everyone), self._tensor(self.labelled)
        for start in range(0, shuffled.shape[1] or n_labelled, self.batch_size):
            if n_labelled > self.batch_size:
                part = self._shuffle(n_labelled)[:, : self.batch_size]
                known_at, known = self._tensor(part), self._tensor(np.take_along_axis(self.labelled, part, axis=1))
            batch = slice(start, start + self.batch_size)
            yield Batch(known_at, known, order[:, batch], rows[:, batch])

    def _shuffle(self, n: int) -> np.ndarray:
        return np.stack([rng.permutation(n) for rng in self.model.rngs])

    def _weights(self, weights: Sequence[ItemWeights | None]) -> Weights | None:
        given = [w for w in weights if w is not None]
        if not given or not len(given[0].normal):
            return None
        return (
            self._tensor(np.stack([w.normal for w in given]).astype(np.float32)),
            self._tensor(np.stack([w.anomaly for w in given]).astype(np.float32)),
        )

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self.model.device)


def _run(
    model: Model,
    rows: Rows,
    tasks: Sequence[Task],
    schedule: Schedule,
    epochs: range,
    always_summed: bool,
    progress: Progress | None,
    keep: Keep | None,
) -> None:
    n_rows = min(len(rows), schedule.rows_per_epoch)
    batch_size = schedule.batch_size or -(-n_rows // 5)
    batches = _Batches(model, tasks, batch_size, n_rows)
    n_parameters = sum(parameter.numel() for parameter in model.backbone.parameters())
    summed = always_summed or schedule.step == "summed"
    history: list[Tensor] = []
    work: Callable[..., Tensor] = partial(_work, model, rows, batches, summed)
    if model.device.type == "cuda" and model.backbone.is_divisible and rows.ranks is ALONE and len(epochs) > 1:
        work = Recorded(work)
    with threads_for(batch_size, n_parameters), precision(schedule.precision), working_with(model.backbone, rows.ranks):
        for epoch in epochs:
            if schedule.pseudo_labels == "epoch" and isinstance(batches.rule, RankedWeights):
                _refresh(model, rows, batches)
            model.backbone.train()
            history.append(_epoch(model, rows, batches, work))
            if keep is not None:
                model.history.append(history.pop().tolist())
                keep(epoch + 1)
            if progress is not None:
                progress(epoch + 1, epochs.stop)
    model.history += [epoch.tolist() for epoch in history]  # fetched once: an epoch need not wait for the host
    model.backbone.eval()


def _epoch(model: Model, rows: Rows, batches: _Batches, work: Callable[..., Tensor]) -> Tensor:
    total, n_steps = torch.zeros(model.n_members, device=model.device), 0
    for batch in batches.epoch():
        total += work(*batch)
        n_steps += 1
    return rows.total(total) / max(n_steps, 1)


def _work(model: Model, rows: Rows, batches: _Batches, summed: bool, *tensors: Tensor) -> Tensor:
    """The step or steps of one batch; its losses (S,), added up."""
    batch = Batch(*tensors)
    parts: list[Part] = []
    if batches.on_labelled is not None:
        parts.append((batch.labelled, partial(_labelled_loss, batches, batch)))
    if batches.rule is not None:
        parts.append((batch.unlabelled, partial(_unlabelled_loss, rows, batches, batch)))
    steps = [parts] if summed else [[part] for part in parts]
    return reduce(torch.add, [_step(model, rows, step) for step in steps])


def _step(model: Model, rows: Rows, parts: Sequence[Part]) -> Tensor:
    """One Adam step on the sum of these losses; members are independent, so their losses add up."""
    model.optimizer.zero_grad(set_to_none=True)
    pairs = rows.losses_apart([at for at, _ in parts])
    loss = reduce(torch.add, [weigh(*pair) for (_, weigh), pair in zip(parts, pairs, strict=True)])  # (S,)
    loss.sum().backward()
    rows.sum_gradients()
    model.optimizer.step()
    return loss.detach()


def _labelled_loss(batches: _Batches, batch: Batch, l0: Tensor, l1: Tensor) -> Tensor:
    assert batches.on_labelled is not None
    return _weigh(l0, l1, _gather(batches.on_labelled, batch.labelled_at))


def _unlabelled_loss(rows: Rows, batches: _Batches, batch: Batch, l0: Tensor, l1: Tensor) -> Tensor:
    if batches.on_unlabelled is not None:
        return _weigh(l0, l1, _gather(batches.on_unlabelled, batch.unlabelled_at))
    assert isinstance(batches.rule, RankedWeights)
    return _weigh(l0, l1, ranked_weights(batches.rule, *rows.collect((l0, l1)), batches.rates))


def _gather(weights: Weights, at: Tensor) -> Weights:
    return weights[0].gather(1, at), weights[1].gather(1, at)


def _weigh(l0: Tensor, l1: Tensor, weights: Weights) -> Tensor:
    """Mean over the rows of each member: (S,)."""
    on_normal, on_anomaly = weights
    return (on_normal * l0 + on_anomaly * l1).mean(-1)


def _refresh(model: Model, rows: Rows, batches: _Batches) -> None:
    """Pseudo-labels for a whole epoch, from the losses of all unlabelled rows."""
    assert isinstance(batches.rule, RankedWeights)
    l0, l1 = rows.eval_losses()
    at = batches.unlabelled
    first, second = (torch.from_numpy(np.take_along_axis(x, at, axis=1)).to(model.device) for x in (l0, l1))
    found = ranked_weights(batches.rule, first, second, batches.rates)
    if batches.on_unlabelled is None:
        batches.on_unlabelled = found
    for old, new in zip(batches.on_unlabelled, found, strict=True):
        old.copy_(new)  # in its place, where a recorded step reads it


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


class Recorded:
    """A computation that is recorded once for each shape of its inputs and then replayed on new values.

    The first call of a shape is computed as it is, since libraries set themselves up in it; the second is recorded.
    Whatever else the computation reads must stay where it is in memory.
    """

    def __init__(self, compute: Callable[..., Tensor], recording: type[Recording] | None = None) -> None:
        self._compute, self._recording = compute, recording or Recording
        self._seen: dict[Shape, Recording | None] = {}

    def __call__(self, *inputs: Tensor) -> Tensor:
        """What the computation gives."""
        shape = tuple(tensor.shape for tensor in inputs)
        if shape not in self._seen:
            self._seen[shape] = None
            return self._compute(*inputs)
        recording = self._seen[shape] = self._seen[shape] or self._recording(self._compute, inputs)
        return recording.replay(inputs)


class Recording:
    """The kernels of one call, with the places of its inputs and of its output."""

    def __init__(self, compute: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> None:
        self._inputs = [tensor.clone() for tensor in inputs]
        self._graph: Any = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._output = compute(*self._inputs)

    def replay(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Compute again, with these inputs."""
        for place, tensor in zip(self._inputs, inputs, strict=True):
            place.copy_(tensor)
        self._graph.replay()
        return self._output.clone()
