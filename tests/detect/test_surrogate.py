"""The surrogate: its formula layer by layer, what it is fitted to, and what is kept of it."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect.incontext.surrogate import EXACT_SHARE, Surrogate
from soel.types import Floats


def rows(n_rows: int = 400, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Rows (n, 3), a distance of each, and scores that follow both."""
    rng = np.random.default_rng(seed)
    x = rng.normal(5, 2, size=(n_rows, 3)).astype(np.float32)
    distances = rng.gamma(2, size=n_rows)
    return x, distances, np.asarray(x[:, 0] - x[:, 1] + 2 * distances)


@pytest.fixture(scope="module")
def fitted() -> Surrogate:
    return Surrogate.fit(*rows(), seed=0)


def test_the_network_is_asked_about_the_highest_share(fitted: Surrogate) -> None:
    x, distances, _ = rows()
    above = fitted.score(x, distances) > fitted.border
    assert above.mean() == pytest.approx(EXACT_SHARE, abs=1 / len(x))


def test_scores_come_in_the_network_s_own_unit(fitted: Surrogate) -> None:
    x, distances, scores = rows(seed=2)
    assert np.abs(fitted.score(x, distances) - scores).mean() < 0.1 * scores.std()
    far = Surrogate.fit(*rows()[:2], rows()[2] * 50 + 1000, seed=0)
    assert np.abs(far.score(x, distances) - (scores * 50 + 1000)).mean() < 0.1 * 50 * scores.std()


def test_the_seed_decides_and_nothing_else() -> None:
    first, same, other = (Surrogate.fit(*rows(60), seed=seed) for seed in (1, 1, 2))
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(same.arrays()[name], array)
    assert not np.array_equal(first.first, other.first)
