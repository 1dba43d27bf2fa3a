"""A real Ray cluster: several nodes, each with processes of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from soel.scoring.ray.cluster import QUIET
from tests.scoring.engines.gates import is_gone, kill, processes

ROOT = Path(__file__).parents[2]
SETTINGS = {
    **QUIET,
    "RAY_AUTH_MODE": "disabled",  # nothing outside this machine reaches it, and no token is written anywhere
    "PYTHONPATH": str(ROOT),  # the gates of these tests are imported by the workers
    "OMP_NUM_THREADS": "1",
    "RAY_worker_niceness": "0",  # at Ray's usual 15 other work on this machine would make these tests wait
    "RAY_health_check_initial_delay_ms": "0",  # a node that was killed is missed after three seconds
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


@dataclass(frozen=True)
class Nodes:
    """A cluster that is up. head: the process that knows all others. raylets: one per node, the head's first."""

    address: str
    head: int
    raylets: tuple[int, ...]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    before = dict(os.environ)
    os.environ.update(SETTINGS)
    import ray
    from ray.cluster_utils import Cluster

    size: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(**size)
    head = cluster.head_node.all_processes["gcs_server"][0].process.pid
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()]
    agents = processes("Agent", raylets)
    yield Nodes(cluster.address, head, tuple(raylets))
    ray.shutdown()
    cluster.shutdown()
    for pid in agents:  # those of a node without a head stay behind
        if not is_gone(pid):
            kill(pid)
    os.environ.clear()
    os.environ.update(before)
