"""Figures worked by hand and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from soel.metrics import auroc, class_cover_radius, cover_radius, f1_at_share, f1_score
from soel.metrics.calibration import calibrate
from soel.metrics.threshold import parse_threshold


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_auroc_agrees_with_scikit_learn(pairs: list[tuple[bool, int]]) -> None:
    truth, scores = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs], float)
    if truth.all() or not truth.any():
        assert np.isnan(auroc(truth, scores))
    else:
        assert auroc(truth, scores) == pytest.approx(roc_auc_score(truth, scores))


def test_f1_by_hand() -> None:
    assert f1_score(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])) == 0.5
    assert f1_score(np.zeros(3), np.zeros(3)) == 0
    assert f1_at_share(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.4])) == 1


def test_cover_radii_by_hand() -> None:
    x = np.array([[0.0], [3.0], [10.0], [11.0]])
    assert cover_radius(x, np.array([0, 3])) == 3
    truth = np.array([0, 0, 1, 1])
    assert class_cover_radius(x, np.array([0, 3]), truth) == 3
    assert class_cover_radius(x, np.array([0, 1]), truth) == np.inf
    assert np.isnan(cover_radius(x, np.array([], int)))


def test_calibration_meets_the_share_and_separates() -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(0, 1, 900), rng.normal(6, 1, 100)])
    labels = np.full(1000, -1, np.int8)
    labels[:5], labels[900:905] = 0, 1
    probabilities = calibrate(scores, labels, 0.1).probabilities(scores)
    assert probabilities.mean() == pytest.approx(0.1, abs=1e-3)
    assert probabilities[:900].mean() < 0.02
    assert probabilities[900:].mean() > 0.85


def test_false_alarm_rule_counts_expected_normals() -> None:
    scores, probabilities = np.array([4.0, 3, 2, 1]), np.array([1.0, 0.5, 0.5, 0.0])
    assert parse_threshold("false-alarms=0.25").cut(scores, 0.5, probabilities) == 2.5
    assert parse_threshold("false-alarms=0").cut(scores, 0.5, probabilities) == 3.5


def test_rules_read_back_as_written() -> None:
    for text in ("contamination", "share=0.02", "alarms=50", "false-alarms=0.01"):
        assert str(parse_threshold(text)) == text
