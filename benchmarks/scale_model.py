"""A model of a cluster: seconds and bytes of each phase from a few rates, which are measured or assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BYTES = 4  # of a float32


@dataclass(frozen=True)
class Rates:
    """What one core and one link do.

    map_seconds: to send parts out and to hear of them, without doing any. draw_rows, score_rows: rows a second and
    core that are read and drawn from, or scored. step_seconds: of a training step of `step_rows` rows on one core,
    without waiting for others. wait_seconds: for one sum over all workers, per doubling of their number. query_bytes:
    of embeddings that a core compares a second. ask_seconds: to ask all workers a question. link_bytes: a second.
    """

    map_seconds: float
    draw_rows: float
    score_rows: float
    step_seconds: float
    step_rows: int
    wait_seconds: float
    query_bytes: float
    ask_seconds: float
    link_bytes: float = 1.25e9


@dataclass(frozen=True)
class Job:
    """How much there is to do. width: columns. row_bytes: of a row on disk. sums: per step, see `step_traffic`."""

    n_rows: int
    pool_rows: int
    width: int
    row_bytes: float
    n_draws: int
    n_steps: int
    batch_rows: int
    sums: int
    sum_bytes: int


@dataclass(frozen=True)
class Machines:
    """nodes: workers that share a training. cores: of each of them."""

    nodes: int
    cores: float

    @property
    def all_cores(self) -> float:
        """Cores of all machines."""
        return self.nodes * self.cores


def seconds(rates: Rates, job: Job, machines: Machines) -> dict[str, float]:
    """Of each phase, once its processes are there."""
    waits = job.sums * rates.wait_seconds * max(1, machines.nodes - 1).bit_length() if machines.nodes > 1 else 0.0
    carried = 2 * job.sum_bytes / rates.link_bytes if machines.nodes > 1 else 0.0  # each sum goes round in both ways
    own_rows = job.batch_rows / machines.nodes
    step = rates.step_seconds * own_rows / rates.step_rows / machines.cores
    pool_bytes = job.pool_rows * job.width * BYTES
    compare = pool_bytes / machines.all_cores / rates.query_bytes
    return {
        "drawing the pool": rates.map_seconds + job.n_rows / machines.all_cores / rates.draw_rows,
        "training": job.n_steps * (step + waits + carried),
        "query": job.n_draws * (compare + rates.ask_seconds),
        "scoring": rates.map_seconds + job.n_rows / machines.all_cores / rates.score_rows,
    }


def bytes_moved(job: Job, machines: Machines) -> dict[str, float]:
    """Over the network, in all; reading and writing shared storage included."""
    between = machines.nodes if machines.nodes > 1 else 0
    answer = job.width * BYTES + 200  # a row's point and a few numbers
    return {
        "drawing the pool": job.n_rows * job.row_bytes + 2 * job.pool_rows * job.row_bytes,
        "training": job.pool_rows * job.width * BYTES + 2.0 * between * job.sum_bytes * job.n_steps,
        "query": 2 * job.pool_rows * job.width * BYTES + 2.0 * between * answer * job.n_draws,
        "scoring": job.n_rows * (job.row_bytes + 24),  # id and score of each row are written
    }


def step_traffic(shape: Mapping[str, int], batch_rows: int) -> tuple[int, int]:
    """How many sums one training step takes, and the bytes of all of them.

    shape: n_members, n_parameters (of all members), n_norms and norm_width (batch-norm layers, and values of all
    members in each). Both the labelled and the unlabelled rows pass every norm, forwards and backwards.
    """
    norms = 2 * 2 * shape["n_norms"]
    ranks = 2 * shape["n_members"] * batch_rows * BYTES  # L0 and L1 of the batch, for the pseudo-labels
    total = shape["n_parameters"] * BYTES + ranks + norms * 2 * shape["norm_width"] * 8
    return norms + 2, total
