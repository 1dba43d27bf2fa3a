"""The surrogate: its formula layer by layer, what it is taught, and what is kept of it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from soel.detect.incontext import surrogate as module
from soel.detect.incontext.surrogate import CLIP, EXACT_SHARE, WIDTH, Surrogate
from soel.types import Floats


def rows(n_rows: int = 400, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Rows (n, 3), a distance of each, and scores that follow both."""
    rng = np.random.default_rng(seed)
    x = rng.normal(5, 2, size=(n_rows, 3)).astype(np.float32)
    distances = rng.gamma(2, size=n_rows)
    return x, distances, np.asarray(x[:, 0] - x[:, 1] + 2 * distances)


@pytest.fixture(scope="module")
def taught() -> Surrogate:
    return Surrogate.fit(*rows(), seed=0)


def slow_score(surrogate: Surrogate, row: Floats, distance: float) -> float:
    """One row, one unit after the other."""
    inputs = [*row.tolist(), distance]
    h = []
    for value, mean, deviation in zip(inputs, surrogate.mean, surrogate.deviation, strict=True):
        h.append(min(max((value - mean) / deviation, -CLIP), CLIP))
    for weights, bias in ((surrogate.first, surrogate.first_bias), (surrogate.second, surrogate.second_bias)):
        h = [
            max(sum(a * b for a, b in zip(h, weights[:, unit], strict=True)) + bias[unit], 0.0) for unit in range(WIDTH)
        ]
    return float(sum(a * b for a, b in zip(h, surrogate.last, strict=True)) + surrogate.last_bias)


def test_a_score_is_two_hidden_layers_of_standardised_and_clipped_inputs(taught: Surrogate) -> None:
    x, distances, _ = rows(3, seed=1)
    x[2, 0], distances[1] = 1e4, -1e4  # far beyond what was seen
    wanted = [slow_score(taught, row, distance) for row, distance in zip(x, distances.tolist(), strict=True)]
    np.testing.assert_allclose(taught.score(x, distances), wanted, rtol=1e-3, atol=1e-3)


def test_inputs_are_standardised_by_the_pool_and_a_constant_one_stays(taught: Surrogate) -> None:
    x, distances, scores = rows()
    inputs = np.column_stack([x, distances])
    np.testing.assert_allclose(taught.mean, inputs.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(taught.deviation, inputs.std(axis=0), rtol=1e-5)
    x[:, 1] = 7
    flat = Surrogate.fit(x, distances, scores, 0)
    assert (flat.mean[1], flat.deviation[1]) == (7, 1)


def test_the_teacher_is_asked_about_the_highest_share(taught: Surrogate) -> None:
    x, distances, _ = rows()
    above = taught.score(x, distances) > taught.border
    assert above.mean() == pytest.approx(EXACT_SHARE, abs=1 / len(x))


def test_scores_come_in_the_teacher_s_own_unit(taught: Surrogate) -> None:
    x, distances, scores = rows(seed=2)
    assert np.abs(taught.score(x, distances) - scores).mean() < 0.1 * scores.std()
    far = Surrogate.fit(*rows()[:2], rows()[2] * 50 + 1000, seed=0)
    assert np.abs(far.score(x, distances) - (scores * 50 + 1000)).mean() < 0.1 * 50 * scores.std()


def test_errors_count_more_where_a_row_scores_high(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal rows with a few high scores: with equal weights the answer would be their mean."""
    monkeypatch.setattr(module, "STEPS", 800)
    x, scores = np.zeros((1000, 1), np.float32), np.zeros(1000)
    scores[:100] = 1.0
    spread = scores.std()
    weight = 1 + (1 - scores.mean()) / spread  # of a high one beside a low one, whose weight is 1
    wanted = 100 * weight / (100 * weight + 900)
    found = Surrogate.fit(x, np.zeros(1000), scores, 0).score(x[:1], np.zeros(1))[0]
    assert scores.mean() + 0.1 < found
    assert found == pytest.approx(wanted, abs=0.06)


def test_the_seed_decides_and_nothing_else() -> None:
    first, same, other = (Surrogate.fit(*rows(60), seed=seed) for seed in (1, 1, 2))
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(same.arrays()[name], array)
    assert not np.array_equal(first.first, other.first)


def test_rows_are_scored_block_by_block_as_all_at_once(taught: Surrogate, monkeypatch: pytest.MonkeyPatch) -> None:
    x, distances, _ = rows(23, seed=4)
    whole = taught.score(x, distances)
    monkeypatch.setattr(module, "BLOCK_ROWS", 5)
    np.testing.assert_allclose(taught.score(x, distances), whole, rtol=1e-5)
    assert len(taught.score(x[:0], distances[:0])) == 0


def test_everything_that_it_has_learnt_is_in_its_arrays(taught: Surrogate) -> None:
    arrays = taught.arrays()
    assert list(arrays) == [field.name for field in fields(Surrogate)]
    again = Surrogate.from_arrays({name: array.copy() for name, array in arrays.items()})
    x, distances, _ = rows(5)
    np.testing.assert_array_equal(again.score(x, distances), taught.score(x, distances))
    for name in set(arrays) - {"border"}:
        changed = Surrogate.from_arrays(arrays | {name: arrays[name] + 0.1})
        assert not np.allclose(changed.score(x, distances), taught.score(x, distances)), name
