"""Pool rows scored as if they were new."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from soel.assess.conformal import Reference
from soel.assess.threshold import parse_threshold
from soel.detect import DETECTORS
from soel.learner import Learner
from soel.model import (
    COUNTERWEIGHT,
    DOUBT,
    FOLDS,
    OPTIMISM,
    Blend,
    reference_scores,
    score_held_out,
)
from soel.settings import DEFAULT
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Kind, Labels, Pool
from tests.variants import BESIDE_A_NETWORK


class Mean:
    """Scores are distances to the mean of the rows it was fitted on."""

    def __init__(self, rows: Floats, seen: list[int]) -> None:
        self.mean = rows.mean()
        seen.append(len(rows))

    def score(self, x: Floats) -> Floats:
        return np.asarray(np.abs(x[:, 0] - self.mean))


def test_each_row_is_scored_by_a_detector_that_has_not_seen_it() -> None:
    rows, labels, sizes = np.arange(20.0)[:, None], np.full(20, UNLABELLED, np.int8), list[int]()
    labels[[3, 7]] = ANOMALY
    at, scores = score_held_out(lambda x, known: Mean(x, sizes), rows, labels, 0)  # type: ignore[arg-type, return-value]
    assert sorted(at) == [row for row in range(20) if row not in (3, 7)]  # known anomalies stand for nothing normal
    assert sizes == [18] * 8 + [19] * 2
    assert len(sizes) == FOLDS
    assert scores[list(at).index(19)] > 19 - rows[:19].mean() - 1.1


def fit(rows: Floats, labels: Labels, rule: str) -> tuple[Learner, Pool, Floats]:
    pool = Pool.of(rows, Kind.TABLE)
    learner = Learner(DEFAULT.settle(Kind.TABLE, rows.shape[1]), 0, parse_threshold(rule))
    detector = DETECTORS.get("neighbours").fit(rows, labels, 0)
    return learner, pool, detector.score(rows)


@pytest.mark.parametrize("rate", [0.05, 0.1])
def test_false_alarms_among_new_rows_stay_within_the_rate(rate: float) -> None:
    """Forty pools of one kind without labels: the mean rate of new normal rows, which the pool's own scores exceed."""
    realised, by_own_scores = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, new = rng.normal(size=(200, 4)).astype(np.float32), rng.normal(size=(400, 4)).astype(np.float32)
        learner, pool, own = fit(rows, np.full(200, UNLABELLED, np.int8), f"false-alarms={rate}")
        fitted = learner.learn(learner.prepare(pool), pool, [], np.full(200, UNLABELLED, np.int8))
        realised.append(fitted.alarms(fitted.score(new)).mean())
        by_own_scores.append((fitted.score(new) > np.quantile(own, 1 - rate)).mean())
        assert (fitted.p_values(fitted.score(new)) <= rate).mean() == realised[-1]
    standard_error = np.std(realised) / np.sqrt(len(realised))
    assert np.mean(realised) <= rate + 2 * standard_error
    assert np.mean(realised) < np.mean(by_own_scores)


def test_what_a_network_learnt_by_heart_is_made_up_for() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    labels = np.full(60, UNLABELLED, np.int8)
    labels[:4] = [1, 0, 0, 0]
    quick = replace(BESIDE_A_NETWORK, n_members=1, tables=replace(BESIDE_A_NETWORK.tables, epochs=1)).settle(
        Kind.TABLE, 3
    )
    learner, pool = Learner(quick, 0), Pool.of(rows, Kind.TABLE)
    warm = learner.prepare(pool)
    fitted = learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)
    assert fitted.network_weight == quick.schedule.deep_weight > 0
    refit = partial(learner._fit_detector, share=fitted.estimate.value)
    deaf = reference_scores(Blend(fitted.detector), fitted.pool_scores, pool, labels, None, refit, learner.seed)
    np.testing.assert_allclose(fitted.reference.scores - deaf.scores, OPTIMISM * quick.schedule.deep_weight)


def labelled_pool() -> tuple[Learner, Pool, Labels]:
    """Two hundred rows, fifteen of them far off, and labels of the outermost: five anomalies, fifteen normal ones."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(200, 3)).astype(np.float32)
    rows[:15] += 4
    labels = np.full(200, UNLABELLED, np.int8)
    labels[:5] = ANOMALY
    labels[15 + np.argsort(-np.linalg.norm(rows[15:], axis=1))[:15]] = NORMAL
    return Learner(DEFAULT.settle(Kind.TABLE, 3), 0), Pool.of(rows, Kind.TABLE), labels


def test_a_normal_label_does_not_lower_what_stands_for_new_rows() -> None:
    """New rows have no label: those labelled normal count as they would score without one."""
    learner, pool, labels = labelled_pool()
    fitted = learner.learn(
        learner.prepare(pool), pool, [], labels
    )  # no evidence: the share is assumed, nothing trimmed
    detector, answered = fitted.detector, labels == NORMAL
    assert detector is not None
    unlabelled = detector.score_unlabelled(pool.rows[answered])
    np.testing.assert_allclose(fitted.reference.scores[answered[labels != ANOMALY]], unlabelled, atol=1e-6)
    np.testing.assert_array_equal(
        fitted.reference.scores[~answered[labels != ANOMALY]], fitted.pool_scores[labels == UNLABELLED]
    )
    assert unlabelled.mean() > fitted.pool_scores[answered].mean() + 0.3


def test_an_anomaly_s_label_does_not_raise_what_it_weighs_against_alarms() -> None:
    learner, pool, labels = labelled_pool()
    warm = learner.prepare(pool)
    fitted = learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)
    detector, found = fitted.detector, labels == ANOMALY
    assert detector is not None
    unlabelled = detector.score_unlabelled(pool.rows[found])
    np.testing.assert_allclose(fitted.reference.scores[found], unlabelled, atol=1e-6)
    assert unlabelled.mean() < fitted.pool_scores[found].mean()


def test_suspected_rows_stand_for_normal_ones_in_part() -> None:
    learner, pool, labels = labelled_pool()
    warm = learner.prepare(pool)
    fitted = learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)
    open_rows, weights = labels == UNLABELLED, fitted.reference.weights
    chances = fitted.probabilities(fitted.pool_scores)
    np.testing.assert_array_equal(fitted.reference.scores[open_rows], fitted.pool_scores[open_rows])
    odds = chances[open_rows] / (1 - chances[open_rows])
    np.testing.assert_allclose(weights[open_rows], 1 / (1 + odds / DOUBT))
    assert (weights[labels == NORMAL] == 1).all()
    assert (weights[labels == ANOMALY] == COUNTERWEIGHT).all()
    everyone = Reference.of(fitted.reference.scores)  # the same rows, none of them suspected
    assert fitted.reference.cut(0.05) < everyone.cut(0.05)
