"""The training loop: warm-up and fit in mini-batches. Nothing here is specific to a network or an objective.

With the labelled rows Q, the unlabelled rows U, and the weights (a, b) that the objective gives each row, a member's
loss is

    mean over Q of (a_i L0(x_i) + b_i L1(x_i))  +  mean over U of (a_j L0(x_j) + b_j L1(x_j)).

Both means go into one Adam step, or each into a step of its own, as the schedule says. S members are trained at once:
they share nothing, so the gradient of the sum of their losses is each one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from soel.deep import Tensor, torch
from soel.networks.objectives import Task
from soel.networks.stack import Model, losses, precision, threads_for
from soel.settings import Schedule
from soel.types import Floats, ItemWeights, Progress, RankedWeights

Weights = tuple[Tensor, Tensor]  # on L0 and on L1, each (S, n)
Part = tuple[Tensor, Tensor, Weights | None]  # rows (S, B), their positions in the weights, the weights
Shape = tuple[torch.Size, ...]


def warm_up(model: Model, pool: Floats, schedule: Schedule, progress: Progress | None = None) -> None:
    """Train on all rows as if normal. pool: (N, d) for all members, or (S, N, d)."""
    n_rows = pool.shape[-2]
    everyone = ItemWeights(np.ones(n_rows, np.float32), np.zeros(n_rows, np.float32))
    task = Task(np.empty(0, np.int64), None, np.arange(n_rows), everyone)
    training = _Training(model, pool, [task] * model.n_members, schedule, summed=True)
    model.backbone.eval()
    with torch.no_grad():
        model.backbone.prepare(training.matrix.expand(model.n_members, *training.matrix.shape[-2:]))
    training.run(schedule.warm_up_epochs, progress)


def fit(
    model: Model,
    pool: Floats,
    tasks: Sequence[Task],
    schedule: Schedule,
    always_summed: bool = False,
    progress: Progress | None = None,
) -> None:
    """Train on labelled and unlabelled rows. One task per member; all with the same numbers of rows."""
    summed = always_summed or schedule.step == "summed"
    _Training(model, pool, tasks, schedule, summed).run(schedule.epochs, progress)


class StepRows(NamedTuple):
    """Rows of one step, all (S, .): all labelled rows (or a part, when they are many) and a part of the rest.

    `*_at` are positions within a task's labelled or unlabelled rows, the others are rows of the pool.
    """

    labelled_at: Tensor
    labelled: Tensor
    unlabelled_at: Tensor
    unlabelled: Tensor


class _Training:
    """The pool and the members' tasks as stacked tensors on the model's device, and the steps on them."""

    def __init__(self, model: Model, pool: Floats, tasks: Sequence[Task], schedule: Schedule, summed: bool) -> None:
        self.model, self.pool, self.schedule, self.summed = model, pool, schedule, summed
        dtype = next(model.backbone.parameters()).dtype
        self.matrix = self._tensor(np.ascontiguousarray(pool)).to(dtype)  # (N, d), or (S, N, d)
        self.member = torch.arange(model.n_members, device=model.device).unsqueeze(-1)
        self.n_rows = min(self.matrix.shape[-2], schedule.rows_per_epoch)
        self.batch_size = schedule.batch_size or -(-self.n_rows // 5)
        self.rule = tasks[0].on_unlabelled
        self.rates = self._tensor(np.array([task.rate for task in tasks], np.float32))
        self.labelled = np.stack([task.labelled for task in tasks])  # (S, K)
        self.unlabelled = np.stack([task.unlabelled for task in tasks])  # (S, n)
        self.on_labelled = self._weights([task.on_labelled for task in tasks])
        fixed = [task.on_unlabelled for task in tasks]
        self.on_unlabelled = self._weights([w for w in fixed if isinstance(w, ItemWeights)])

    def run(self, n_epochs: int, progress: Progress | None) -> None:
        """Train for so many epochs; the mean loss of each goes into the model's history."""
        model, history = self.model, list[Tensor]()
        n_parameters = sum(parameter.numel() for parameter in model.backbone.parameters())
        work: Callable[..., Tensor] = self._work
        if model.device.type == "cuda" and model.backbone.is_recordable and n_epochs > 1:
            work = Recorded(work)
        with threads_for(self.batch_size, n_parameters), precision(self.schedule.precision):
            for epoch in range(n_epochs):
                if self.schedule.pseudo_labels == "epoch" and isinstance(self.rule, RankedWeights):
                    self._refresh(self.rule)
                model.backbone.train()
                parts = [work(*batch) for batch in self._epoch()]
                history.append(reduce(torch.add, parts) / len(parts))
                if progress is not None:
                    progress(epoch + 1, n_epochs)
        model.history += [epoch.tolist() for epoch in history]  # fetched once: an epoch need not wait for the host
        model.backbone.eval()

    def _epoch(self) -> Iterator[StepRows]:
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
            yield StepRows(known_at, known, order[:, batch], rows[:, batch])

    def _work(self, *tensors: Tensor) -> Tensor:
        """The step or steps of one batch; its losses (S,), added up."""
        batch, parts = StepRows(*tensors), list[Part]()
        if self.on_labelled is not None:
            parts.append((batch.labelled, batch.labelled_at, self.on_labelled))
        if self.rule is not None:
            parts.append((batch.unlabelled, batch.unlabelled_at, self.on_unlabelled))
        steps = [parts] if self.summed else [[part] for part in parts]
        return reduce(torch.add, [self._step(step) for step in steps])

    def _step(self, parts: Sequence[Part]) -> Tensor:
        """One Adam step on the sum of the losses (S,) of these parts.

        Without weights of their own they follow the ranking of the rows at hand.
        """
        self.model.optimizer.zero_grad(set_to_none=True)
        sizes = [rows.shape[1] for rows, _, _ in parts]
        x = self._rows(torch.cat([rows for rows, _, _ in parts], dim=1))
        pairs = self.model.backbone.losses_apart(x, sizes) if len(parts) > 1 else [self.model.backbone.losses(x)]
        found = []
        for (_, at, given), (l0, l1) in zip(parts, pairs, strict=True):
            if given is not None:
                on_normal, on_anomaly = given[0].gather(1, at), given[1].gather(1, at)
            else:
                assert isinstance(self.rule, RankedWeights)
                on_normal, on_anomaly = ranked_weights(self.rule, l0, l1, self.rates)
            found.append((on_normal * l0 + on_anomaly * l1).mean(-1))
        loss = reduce(torch.add, found)
        loss.sum().backward()
        self.model.optimizer.step()
        return loss.detach()

    def _refresh(self, rule: RankedWeights) -> None:
        """Pseudo-labels for a whole epoch, from the losses of all unlabelled rows in eval mode."""
        l0, l1 = losses(self.model, self.pool)
        first, second = (self._tensor(np.take_along_axis(x, self.unlabelled, axis=1)) for x in (l0, l1))
        found = ranked_weights(rule, first, second, self.rates)
        if self.on_unlabelled is None:
            self.on_unlabelled = found
        for old, new in zip(self.on_unlabelled, found, strict=True):
            old.copy_(new)  # in its place, where a recorded step reads it

    def _rows(self, at: Tensor) -> Tensor:
        """The rows (S, B) of the pool as (S, B, d)."""
        return self.matrix[at] if self.matrix.ndim == 2 else self.matrix[self.member, at]

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
