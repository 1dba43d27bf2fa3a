from __future__ import annotations

import os

import numpy as np
import pytest

from soel.assess.metrics import auroc
from soel.errors import ConfigError
from soel_paper.peers import DETECTORS, fit_peer, missing_package

OWN_PACKAGE = [name for name in DETECTORS if DETECTORS[name][1] is not None]


@pytest.mark.parametrize("name", [name for name in DETECTORS if name not in OWN_PACKAGE])
def test_a_peer_finds_what_lies_far_away(name: str) -> None:
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(200, 3)).astype(np.float32)
    pool[:10] += 6
    labels = (np.arange(200) < 10).astype(np.int8)
    test = np.concatenate([rng.normal(size=(50, 3)), rng.normal(size=(10, 3)) + 6]).astype(np.float32)
    assert auroc(np.arange(60) >= 50, fit_peer(name, pool, labels, 0).score(test)) > 0.9


@pytest.mark.parametrize("name", OWN_PACKAGE)
def test_a_peer_of_another_package_runs_and_repeats(name: str) -> None:
    # How well it detects is that package's affair; that its scores arrive, vary and repeat is ours.
    if (package := missing_package(name)) and not os.environ.get("CI"):
        pytest.skip(f"{package} is not installed")
    pool = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    labels = np.where(np.arange(120) < 5, 1, -1).astype(np.int8)
    first, second = (fit_peer(name, pool, labels, 3) for _ in range(2))
    assert first.pool.shape == (120,)
    assert np.isfinite(first.pool).all()
    assert np.ptp(first.pool) > 0
    np.testing.assert_allclose(first.score(pool[:9]), second.score(pool[:9]), rtol=1e-4)


def test_the_distance_is_to_the_kth_neighbour() -> None:
    pool = np.array([[0.0], [1.0], [10.0]], np.float32)
    fitted = fit_peer("knn", pool, np.zeros(3, np.int8), 0, k=2)
    assert fitted.score(np.array([[0.0], [9.0]], np.float32)).tolist() == [1.0, 8.0]
    assert fitted.pool.tolist() == [10.0, 9.0, 10.0]


def test_an_unknown_peer_is_an_error() -> None:
    with pytest.raises(ConfigError, match="isolation-forest"):
        fit_peer("crystal-ball", np.zeros((3, 1), np.float32), np.zeros(3, np.int8), 0)
