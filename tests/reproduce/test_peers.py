from __future__ import annotations

import numpy as np
import pytest

from soel.errors import ConfigError
from soel.metrics import auroc
from soel.reproduce.peers import DETECTORS, fit_peer, missing_package


@pytest.mark.parametrize("name", DETECTORS)
def test_a_peer_finds_what_lies_far_away(name: str) -> None:
    if missing_package(name):
        pytest.skip(f"{missing_package(name)} is not installed")
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(200, 3)).astype(np.float32)
    pool[:10] += 6
    labels = (np.arange(200) < 10).astype(np.int8)
    test = np.concatenate([rng.normal(size=(50, 3)), rng.normal(size=(10, 3)) + 6]).astype(np.float32)
    assert auroc(np.arange(60) >= 50, fit_peer(name, pool, labels, 0).score(test)) > 0.9


def test_the_distance_is_to_the_kth_neighbour() -> None:
    pool = np.array([[0.0], [1.0], [10.0]], np.float32)
    fitted = fit_peer("knn", pool, np.zeros(3, np.int8), 0, k=2)
    assert fitted.score(np.array([[0.0], [9.0]], np.float32)).tolist() == [1.0, 8.0]
    assert fitted.pool.tolist() == [10.0, 9.0, 10.0]


def test_an_unknown_peer_is_an_error() -> None:
    with pytest.raises(ConfigError, match="isolation-forest"):
        fit_peer("crystal-ball", np.zeros((3, 1), np.float32), np.zeros(3, np.int8), 0)
