"""Data-parallel training under Ray Train: the one training loop, with the rows of a batch spread over workers."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import ray
import torch
import torch.distributed as distributed
from ray import train
from ray.train.torch import TorchConfig, TorchTrainer
from torch import Tensor

from soel.errors import DataError, SessionError, SoelError
from soel.files import MARK
from soel.networks import Model, fit, warm_up
from soel.networks.batch import Shard
from soel.networks.objectives import Task
from soel.networks.ranks import Ranks
from soel.scoring.ray.cluster import Cluster, Plan
from soel.scoring.ray.counter import Counter
from soel.scoring.ray.feature_shards import FeatureShards
from soel.scoring.ray.states import Form, State, model_state, read_state, restore_model, write_state
from soel.scoring.ray.storage import Storage
from soel.settings import Schedule
from soel.types import Progress

ERROR, CHECKPOINTS, FAILURES = "error.txt", 20, 3  # a training is kept about 20 times on its way
ROWS_PER_CORE = 256  # of a batch: fewer take less time than the sums of a step
BYTES_PER_VALUE = 16  # a value of the pool, read and kept, and the order of its row


@dataclass(frozen=True)
class Job:
    """A training, without its rows. tasks: None for a warm-up. name: where it is kept, the same for the same job."""

    name: str
    form: Form
    start: State
    shards: FeatureShards
    schedule: Schedule
    tasks: Sequence[Task] | None = None
    always_summed: bool = True
    counter: Any = None

    @property
    def n_epochs(self) -> int:
        """Epochs of the whole job."""
        return self.schedule.warm_up_epochs if self.tasks is None else self.schedule.epochs


class GlooRanks(Ranks):
    """The workers of a training, by torch's process group."""

    def __init__(self) -> None:
        self.n_ranks = distributed.get_world_size()

    def total(self, values: Tensor) -> Tensor:
        """The sum over all workers."""
        whole = values.detach().clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(whole)
        return whole


def run_job(cluster: Cluster, job: Job, model: Model, runs: Storage, progress: Progress | None) -> None:
    """Take the model through the job. A worker that dies is replaced; machines that are gone are done without."""
    cluster.connect()
    if progress is not None:
        job = replace(job, counter=ray.remote(num_cpus=0)(Counter).remote())
    n_shards = job.shards.n_blocks if model.backbone.is_divisible else 1
    kept = runs.within(job.name)
    kept.write(MARK, b"")  # what lies there is ours, and goes at the end
    end = _attempt(cluster, job, n_shards, runs, progress)
    kept.clear(kept.has(MARK))
    if isinstance(end, str):
        raise DataError(end)
    restore_model(model, end)


def _attempt(cluster: Cluster, job: Job, n_shards: int, runs: Storage, progress: Progress | None) -> State | str:
    show, last = _show_progress(job, progress), None
    for _ in range(FAILURES):
        plan = worthwhile(cluster.plan(n_shards), job) if cluster.n_workers is None else cluster.plan(n_shards)
        try:
            return cluster.wait_for(partial(_train, job, plan, runs), show)
        except train.TrainingFailedError as error:
            last = error
    raise SessionError(_name_failure(last)) from last


def worthwhile(plan: Plan, job: Job) -> Plan:
    """No more workers than gain by sharing a step: each must have enough rows of a batch, or wait more than it works.

    But never so few that the pool does not fit into their memory.
    """
    n_rows, width = job.shards.n_rows, job.shards.n_features
    batch = job.schedule.batch_size or -(-min(n_rows, job.schedule.rows_per_epoch) // 5)
    gaining = batch // (ROWS_PER_CORE * plan.n_cores)
    needed = math.ceil(n_rows * width * BYTES_PER_VALUE / plan.memory)
    return replace(plan, n_workers=min(plan.n_workers, max(1, gaining, needed)))


def _train(job: Job, plan: Plan, runs: Storage) -> State | str:
    """The state at the end, or what was wrong; a job of the same name goes on from its last checkpoint."""
    trainer = TorchTrainer(
        _work,
        train_loop_config={"job": job},
        torch_config=TorchConfig(backend="gloo", timeout_s=600),
        scaling_config=train.ScalingConfig(
            num_workers=plan.n_workers, resources_per_worker={"CPU": plan.n_cores}, placement_strategy="SPREAD"
        ),
        run_config=train.RunConfig(
            storage_path=runs.root,
            name=job.name,
            failure_config=train.FailureConfig(max_failures=FAILURES, controller_failure_limit=1),  # type: ignore[call-arg]
            checkpoint_config=train.CheckpointConfig(num_to_keep=1),
        ),
    )
    checkpoint = trainer.fit().checkpoint
    assert checkpoint is not None  # every job reports one at its end
    with checkpoint.as_directory() as folder:
        problem = Path(folder) / ERROR
        return problem.read_text(encoding="utf-8") if problem.exists() else read_state(Path(folder))


def _work(config: dict[str, Job]) -> None:
    """What each worker does: its own rows, the same batches as all others."""
    job = config["job"]
    model, first_epoch = _begin(job)
    pool = _own_rows(job)
    if isinstance(pool, str):
        _report_error(pool)
        return

    def keep(epoch: int) -> None:
        if job.counter is not None and distributed.get_rank() == 0:
            job.counter.put.remote(epoch)
        if epoch == job.n_epochs or epoch % max(1, job.n_epochs // CHECKPOINTS) == 0:
            _report(model, epoch)

    if job.tasks is None:
        warm_up(model, pool, job.schedule, first_epoch=first_epoch, keep=keep)
    else:
        fit(model, pool, job.tasks, job.schedule, job.always_summed, first_epoch=first_epoch, keep=keep)
    if job.n_epochs == 0:
        _report(model, 0)


def _begin(job: Job) -> tuple[Model, int]:
    """The model and the number of epochs it has seen: as it was given, or as the last checkpoint has it."""
    checkpoint = train.get_checkpoint()
    if checkpoint is None:
        return restore_model(job.form.new_model(), job.start), 0
    with checkpoint.as_directory() as folder:
        state = read_state(Path(folder))
    return restore_model(job.form.new_model(), state), int(state.notes["epoch"])


def _own_rows(job: Job) -> Shard | str:
    """The rows of this worker, or why some worker cannot read its own: then all stop, since none can go on alone."""
    rank, ranks = distributed.get_rank(), GlooRanks()
    start, stop = job.shards.bounds(ranks.n_ranks)[rank : rank + 2]
    problems: list[str | None] = [None] * ranks.n_ranks
    rows, problem = None, None
    try:
        rows = job.shards.read(start, stop)
    except SoelError as error:
        problem = str(error)
    distributed.all_gather_object(problems, problem)
    found = [each for each in problems if each is not None]
    if found:
        return found[0]
    assert rows is not None
    return Shard(rows, start, job.shards.n_rows, ranks)


def _report(model: Model, epoch: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = model_state(model)
        write_state(Path(folder), State(state.arrays, {**state.notes, "epoch": epoch}))
        _send(folder)


def _report_error(problem: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ERROR).write_text(problem, encoding="utf-8")
        _send(folder)


def _send(folder: str) -> None:
    """All workers report; one of them brings the checkpoint."""
    train.report({}, train.Checkpoint.from_directory(folder) if distributed.get_rank() == 0 else None)


def _show_progress(job: Job, progress: Progress | None) -> Callable[[], None] | None:
    if progress is None:
        return None
    seen = [0]

    def show() -> None:
        ready, _ = ray.wait([job.counter.get.remote()], timeout=0.1)
        done = ray.get(ready[0]) if ready else 0
        if done > seen[0]:
            seen[0] = done
            progress(done, job.n_epochs)

    return show


def _name_failure(error: Exception | None) -> str:
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return f"The training failed on the cluster again and again ({reason}). See Ray's logs, then run it again."
