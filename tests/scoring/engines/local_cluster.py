"""A cluster of soel's own, until standard input ends: prints its head, token and meeting point once it has worked."""

from __future__ import annotations

import os
import socket
import sys
import warnings
from typing import Any

from soel.scoring.ray.cluster import Cluster


class Trainer:
    """One of two processes that train together, as Ray Train connects them."""

    def where(self) -> str:
        import ray

        host = ray.util.get_node_ip_address()
        with socket.create_server((host, 0)) as free:
            return f"tcp://{host}:{free.getsockname()[1]}"

    def join(self, where: str, rank: int) -> float:
        import torch
        from torch import distributed

        distributed.init_process_group("gloo", init_method=where, rank=rank, world_size=2)
        total = torch.tensor(float(rank))
        distributed.all_reduce(total)
        return float(total)


def main() -> None:
    warnings.simplefilter("ignore")
    cluster = Cluster(n_workers=1)
    cluster.connect()
    import ray

    actors: list[Any] = [ray.remote(num_cpus=0)(Trainer).remote() for _ in range(2)]
    where = ray.get(actors[0].where.remote())
    assert ray.get([actor.join.remote(where, rank) for rank, actor in enumerate(actors)]) == [1.0, 1.0]
    print(cluster.head, os.environ["RAY_AUTH_TOKEN"], where.rpartition(":")[2], flush=True)  # noqa: T201 - this is its answer
    sys.stdin.read()
    cluster.close()


if __name__ == "__main__":
    main()
