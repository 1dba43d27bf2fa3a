"""Which cluster a session computes on. Ray is imported when the first step computes, not before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soel.errors import ConfigError
from soel.scoring.ray.cluster import Cluster, check_installed
from soel.session import SessionFolder
from soel.settings import Profile
from soel.types import Floats

if TYPE_CHECKING:
    from soel.scoring.ray.compute import RayCompute

SHARDS = "shards"  # in the session's folder, where no other place is named


@dataclass(frozen=True)
class ClusterOptions:
    """Which cluster. address: of its head, None starts one on this machine for as long as the command runs.

    n_workers: processes that share a training or a query; None takes one per machine. shared: a path or an fsspec
    address that all machines reach, for the shards; None takes the session's folder, which they then must reach.
    """

    address: str | None = None
    n_workers: int | None = None
    shared: str | None = None

    def __post_init__(self) -> None:
        if self.n_workers is not None and self.n_workers < 1:
            raise ConfigError(f"At least one worker is needed, got <<workers={self.n_workers}>>.")


@dataclass(frozen=True)
class FeatureFile:
    """The session's features, as every machine reads them."""

    path: str

    def read(self, start: int, stop: int) -> Floats:
        """These rows (n, d)."""
        try:
            return np.array(np.load(self.path, mmap_mode="r", allow_pickle=False)[start:stop])
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{self.path} cannot be read on a machine of the cluster: {error}. Put the session on storage that all "
                "machines reach, or name such a place with <<shared>>."
            ) from error


def compute_on(options: ClusterOptions, place: SessionFolder, profile: Profile) -> RayCompute:
    """The heavy steps of a session, on a cluster."""
    check_installed()
    from soel.scoring.ray.compute import RayCompute
    from soel.scoring.ray.feature_shards import FeatureShards
    from soel.scoring.ray.states import Form
    from soel.scoring.ray.storage import Storage

    config, pool, folder = place.config, place.pool, place.path.resolve()
    name = SHARDS if len(place.pools) == 1 else f"{SHARDS}-{len(place.pools)}"
    root = folder / name if options.shared is None else f"{_whole(options.shared)}/soel-{place.identity}"
    return RayCompute(
        Cluster(options.address, options.n_workers),
        place.identity,
        FeatureFile(str(place.home.resolve() / "features.npy")),
        FeatureShards(Storage(str(root)), place.identity, len(pool), pool.shape[1]),
        Form(json.loads(json.dumps(profile.to_json())), config.seed, pool.shape[1]),
        is_cut_here=options.shared is not None,
    )


def _whole(shared: str) -> str:
    return shared.rstrip("/") if "://" in shared else str(Path(shared).resolve())
