"""Estimates worked by hand, and what kriging is for."""

from __future__ import annotations

import numpy as np
import pytest

from soel.assess import ESTIMATORS
from soel.assess.share import rate_among_unlabelled, wilson
from soel.errors import ConfigError
from soel.types import Estimate, Evidence


def rate(contamination: float, n_rows: int, n_labelled: int, n_anomalies: int) -> float:
    labels = np.full(n_rows, -1, np.int8)
    labels[:n_labelled], labels[:n_anomalies] = 0, 1
    return rate_among_unlabelled(Estimate(contamination, 0, 1, "kde"), labels)


def outer_rows(seed: int) -> tuple[Evidence, float]:
    """Anomalies lie outside, the score knows nothing, and outer rows are asked more often."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2000, 4)).astype(np.float32)
    ranks = np.argsort(np.argsort(np.linalg.norm(x, axis=1)))
    truth = rng.random(2000) < 0.6 * (ranks > 1600)
    rows = rng.choice(2000, 30, replace=False, p=ranks**4 / (ranks**4).sum())
    return Evidence(rng.random(2000), x, rows, truth[rows].astype(np.int8)), float(truth.mean())


def test_labels_of_outer_rows_are_not_taken_for_everyones() -> None:
    cases = [outer_rows(seed) for seed in range(8)]
    errors = [ESTIMATORS.create("kriging").estimate([rows]).value - share for rows, share in cases]
    assert np.mean([rows.labels.mean() - share for rows, share in cases]) > 0.2
    assert abs(np.mean(errors)) < 0.05
    assert np.mean(np.abs(errors)) < 0.07


def test_rate_among_the_unlabelled() -> None:
    assert rate(0.1, 100, 10, 5) == pytest.approx(5 / 90)
    assert rate(0.01, 100, 10, 5) == 0
    assert rate(0.9, 100, 10, 0) == 0.5
    assert rate(0.1, 10, 10, 1) == 0


@pytest.mark.parametrize(("share", "n_labels"), [(0.0, 5), (0.1, 20), (0.5, 3.7), (1.0, 8), (1.7, 8)])
def test_wilson_is_where_the_share_lies_z_deviations_away(share: float, n_labels: float) -> None:
    seen, z = min(share, 1.0), 1.2815515594600038  # a share above 1 counts as 1; z of 80 %
    for end in wilson(share, n_labels):
        if 0 < end < 1:
            assert abs(seen - end) == pytest.approx(z * np.sqrt(end * (1 - end) / n_labels), rel=1e-6)
        else:
            assert end == seen


def test_a_fixed_share_is_what_was_given() -> None:
    found = ESTIMATORS.create("fixed", value=0.07).estimate([])
    assert (found.value, found.low, found.high, found.method) == (0.07, 0.07, 0.07, "fixed")
    for edge in (0.0, 0.5):
        assert ESTIMATORS.create("fixed", value=edge).estimate([]).value == edge
    for wrong in (-0.001, 0.501, float("nan")):
        with pytest.raises(ConfigError, match=r"between 0 and 0\.5"):
            ESTIMATORS.create("fixed", value=wrong)


def round_of(scores: list[float], rows: list[int], labels: list[int]) -> Evidence:
    values = np.array(scores)
    return Evidence(values, values[:, None], np.array(rows), np.array(labels, np.int8))


def slow_kde(rounds: list[Evidence]) -> float:
    """Equation alpha-is, one queried row at a time."""
    terms = []
    for seen in rounds:
        width = (seen.scores.max() - seen.scores.min()) / len(seen.rows)
        for row, label in zip(seen.rows, seen.labels, strict=True):
            p = np.mean([np.exp(-((seen.scores[row] - s) ** 2) / (2 * width**2)) for s in seen.scores])
            q = np.mean([np.exp(-((seen.scores[row] - seen.scores[r]) ** 2) / (2 * width**2)) for r in seen.rows])
            terms.append(p / q * label)
    return float(np.mean(terms))


def test_kde_takes_each_round_with_its_own_scores_and_the_mean_over_all_answers() -> None:
    first = round_of([0.0, 0.2, 0.3, 1.0, 0.9, 0.1], [0, 3], [0, 1])
    second = round_of([0.5, 0.1, 0.0, 2.0, 1.5, 0.2], [4, 1, 2], [1, 0, 0])
    assert ESTIMATORS.create("kde").estimate([first, second]).value == pytest.approx(slow_kde([first, second]))


def test_kde_of_equal_scores_is_the_mean_label() -> None:
    found = ESTIMATORS.create("kde").estimate([round_of([1.0] * 5, [0, 1, 2, 3], [1, 0, 0, 0])])
    assert found.value == 0.25
    assert found.diagnostics == {"effective_labels": 4.0, "largest_weight": 1.0}


def test_cover_counts_cells_and_says_how_much_they_are_worth() -> None:
    # Cells of 3, 1 and 1 rows: 1 / (9 + 1 + 1) * 25 labels.
    x = [0.0, 0.1, 0.2, 5.0, 9.0]
    found = ESTIMATORS.create("cover").estimate([round_of(x, [1, 3], [0, 1]), round_of(x, [4], [1])])
    assert found.value == pytest.approx(0.4)
    assert found.diagnostics["effective_labels"] == pytest.approx(25 / 11)
    assert found.diagnostics["largest_cell"] == pytest.approx(0.6)
    assert (found.low, found.high) == pytest.approx(wilson(0.4, 25 / 11))


def test_cover_looks_at_the_newest_embedding() -> None:
    old, new = round_of([0.0, 0.0, 0.0, 9.0], [0], [0]), round_of([0.0, 9.0, 9.0, 9.0], [3], [1])
    assert ESTIMATORS.create("cover").estimate([old, new]).value == pytest.approx(0.75)
