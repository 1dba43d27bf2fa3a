"""Data that every room's tests share: a toy with known structure, and two real tables that come with scikit-learn."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # lets scikit-learn check array-API input

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from soel.learner import Learner
from soel.settings import Profile
from soel.types import Floats, Kind, Pool
from tests.disks import SmallDisk, small_disk

os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="soel-tests-config-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)
settings.register_profile("soel", deadline=None)  # how long an example takes is the machine's affair
settings.load_profile("soel")


@dataclass(frozen=True)
class Sample:
    """A pool with its hidden truth, for tests only."""

    x: Floats
    is_anomaly: np.ndarray

    def labels(self, n_labels: int = 10) -> np.ndarray:
        """Labels for some rows of both kinds, -1 elsewhere."""
        labels = np.full(len(self.x), -1, np.int8)
        anomalies, normals = np.flatnonzero(self.is_anomaly), np.flatnonzero(~self.is_anomaly)
        n_anomalies = max(n_labels * 3 // 10, 1)
        labels[anomalies[:n_anomalies]] = 1
        labels[normals[: n_labels - n_anomalies]] = 0
        return labels


def make_toy(seed: int = 0, n_rows: int = 200, n_anomalies: int = 20) -> Sample:
    """Normals on a plane in 6 dimensions, anomalies off it at the same distance from the middle."""
    rng = np.random.default_rng(seed)
    is_anomaly = np.zeros(n_rows, bool)
    is_anomaly[:n_anomalies] = True
    x = np.concatenate([rng.normal(size=(n_rows, 3)), 0.1 * rng.normal(size=(n_rows, 3))], axis=1)
    x[is_anomaly] = x[is_anomaly][:, ::-1] * 1.5
    order = rng.permutation(n_rows)
    return Sample(x[order].astype(np.float32), is_anomaly[order])


def make_learner(
    profile: Profile, x: Floats, seed: int = 0, kind: Kind = Kind.TABLE, **options: Any
) -> tuple[Learner, Pool]:
    """The loop for a profile, settled for these rows, and the rows as a pool."""
    pool = Pool.of(x, kind)
    return Learner(profile.settle(kind, pool.n_features), seed, **options), pool


def contaminated(x: Floats, is_anomaly: np.ndarray, share: float = 0.1) -> Sample:
    """All normals and enough anomalies for the share, standardised."""
    normals, anomalies = np.flatnonzero(~is_anomaly), np.flatnonzero(is_anomaly)
    n_anomalies = int(share / (1 - share) * len(normals))
    rows = np.random.default_rng(0).permutation(np.concatenate([normals, anomalies[:n_anomalies]]))
    return Sample(StandardScaler().fit_transform(x[rows]).astype(np.float32), is_anomaly[rows])


@pytest.fixture(scope="session")
def toy() -> Sample:
    return make_toy()


@pytest.fixture(scope="session")
def cancer() -> Sample:
    x, y = load_breast_cancer(return_X_y=True)
    return contaminated(x, y == 0)


@pytest.fixture(scope="session")
def wine() -> Sample:
    x, y = load_wine(return_X_y=True)
    return contaminated(x, y == 2)


@pytest.fixture(scope="session", params=["toy", "cancer", "wine"])
def sample(request: pytest.FixtureRequest) -> Sample:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of a few megabytes."""
    with small_disk(tmp_path / "disk") as made:
        yield made
