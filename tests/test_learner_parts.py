"""What the loop is made of, by hand: scores that add up, shares and rates, what is told to the network."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from soel.assess.calibration import calibrate
from soel.assess.share import rate_among_unlabelled
from soel.assess.threshold import FixedCount
from soel.detect.detector import Detector
from soel.errors import ConfigError
from soel.learner import ASSUMED, Learner
from soel.model import Blend, TrainedNetwork
from soel.networks import losses
from soel.settings import PAPER, Profile
from soel.types import Estimate, Evidence, Floats, ItemWeights, Labels, Pool, RankedWeights
from tests.conftest import Sample, make_learner, make_toy
from tests.variants import BESIDE_A_NETWORK

SHORT = replace(PAPER, tables=replace(PAPER.tables, epochs=2), n_members=2)
QUICK = replace(BESIDE_A_NETWORK, tables=replace(BESIDE_A_NETWORK.tables, epochs=2), n_members=2)
SHARE = Estimate(0.2, 0.1, 0.3, "kde")


@dataclass(frozen=True)
class FirstColumn(Detector):
    """Scores a row by its first value."""

    name = "first"

    @classmethod
    def fit(cls, *given: object) -> FirstColumn:
        return cls()

    def score(self, x: Floats) -> Floats:
        return np.asarray(x[:, 0], np.float64)

    def space(self, x: Floats) -> Floats:
        return x[:, :1]


def network(profile: Profile = SHORT) -> tuple[TrainedNetwork, Floats]:
    toy = make_toy(n_rows=30, n_anomalies=3)
    learner, pool = make_learner(profile, toy.x)
    return learner.new_network(pool), toy.x


def test_a_network_s_score_is_the_mean_of_standardised_members() -> None:
    trained, x = network()
    raw = losses(trained.model, x)[0].astype(np.float64)
    np.testing.assert_allclose(trained.centre, raw.mean(axis=1))
    np.testing.assert_allclose(trained.spread, raw.std(axis=1))
    expected = ((raw - raw.mean(axis=1, keepdims=True)) / raw.std(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(trained.score(x), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(trained.combine(raw), expected, rtol=1e-6)


def test_a_member_that_scores_all_rows_alike_does_not_divide_by_0() -> None:
    trained, _ = network()
    flat = TrainedNetwork.measured(trained.model, np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]))
    assert flat.spread.tolist() == [pytest.approx(np.sqrt(2 / 3)), 1.0]
    np.testing.assert_allclose(flat.combine(np.full((2, 1), 5.0)), [(3 / np.sqrt(2 / 3)) / 2])


def test_scores_of_a_blend_add_up() -> None:
    trained, x = network()
    detector = FirstColumn()
    deep = trained.score(x)
    np.testing.assert_allclose(Blend(detector, trained, 0.25).score(x), x[:, 0] + 0.25 * deep, rtol=1e-6)
    np.testing.assert_array_equal(Blend(detector).score(x), x[:, 0])
    np.testing.assert_array_equal(Blend(detector, trained, 0.0).score(x), x[:, 0])
    np.testing.assert_array_equal(Blend(None, trained).score(x), deep)
    np.testing.assert_array_equal(Blend(None, trained, 0.25).score(x), deep)


def labels_of(*known: tuple[int, int], n: int = 20) -> Labels:
    labels = np.full(n, -1, np.int8)
    for row, label in known:
        labels[row] = label
    return labels


def test_the_rate_among_the_rest() -> None:
    labels = labels_of((0, 1), (1, 0), (2, 1))
    assert rate_among_unlabelled(SHARE, labels) == pytest.approx((0.2 * 20 - 2) / 17)
    assert rate_among_unlabelled(SHARE, labels_of()) == pytest.approx(0.2)  # an objective that hears no labels
    assert rate_among_unlabelled(replace(SHARE, method="assumed"), labels) == 0


def table(n: int = 20) -> tuple[Learner, Pool, Floats]:
    x = make_toy(n_rows=n, n_anomalies=2).x
    learner, pool = make_learner(SHORT, x)
    return learner, pool, x


def test_the_share_is_given_or_estimated_or_assumed() -> None:
    learner, _, x = table()
    rows = np.array([0, 1])
    seen = Evidence(x[:, 0], x, rows, np.array([1, 0], np.int8))
    assert replace(learner, contamination=0.07).estimate([seen]).value == 0.07
    assert learner.estimate([seen]).method == "kde"
    for nothing in ([], [replace(seen, rows=rows[:0], labels=seen.labels[:0])]):
        assumed = learner.estimate(nothing)
        assert (assumed.value, assumed.low, assumed.high, assumed.method) == (ASSUMED, 0.0, 0.5, "assumed")


def test_a_task_is_the_objective_s_weights_and_the_rate() -> None:
    learner, pool, _ = table()
    labels = labels_of((3, 1), (5, 0), (7, 0))
    task = learner.task(learner.prepare(pool), pool, labels, SHARE)
    assert task.labelled.tolist() == [3, 5, 7]
    assert task.unlabelled.tolist() == [row for row in range(20) if row not in (3, 5, 7)]
    assert isinstance(task.on_labelled, ItemWeights)
    assert task.on_labelled.anomaly.tolist() == [1, 0, 0]
    assert task.on_unlabelled == RankedWeights(0.5)
    assert task.rate == pytest.approx((4 - 1) / 17)


def test_an_objective_without_labels_sees_none() -> None:
    learner, pool, _ = table()
    learner = replace(learner, profile=learner.profile.with_parts(objective="loe-hard"))
    task = learner.task(learner.prepare(pool), pool, labels_of((3, 1), (5, 0)), SHARE)
    assert len(task.labelled) == 0
    assert task.on_labelled is None
    assert len(task.unlabelled) == 20
    assert task.rate == pytest.approx(0.2)


def test_an_objective_of_labels_alone_needs_some() -> None:
    learner, pool, _ = table()
    learner = replace(learner, profile=learner.profile.with_parts(objective="supervised"))
    with pytest.raises(ConfigError, match="learns from labels alone, and there are none"):
        learner.task(learner.prepare(pool), pool, labels_of(), SHARE)


def test_threshold_and_probabilities_are_those_of_the_pool_s_scores(toy: Sample) -> None:
    learner, pool = make_learner(QUICK, toy.x, threshold=FixedCount(7))
    warm, labels = learner.prepare(pool), toy.labels()
    fitted = learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)
    np.testing.assert_allclose(fitted.pool_scores, fitted.score(toy.x), rtol=1e-5, atol=1e-6)
    assert fitted.alarms(fitted.pool_scores).sum() == 7
    assert fitted.calibration == calibrate(fitted.pool_scores, labels, fitted.estimate.value)
    other = learner.with_rule(fitted, pool, FixedCount(3))
    assert other.alarms(other.pool_scores).sum() == 3
    assert other.detector is fitted.detector
    assert (other.estimate, other.calibration) == (fitted.estimate, fitted.calibration)


def test_evidence_of_labels_that_nobody_drew_is_one_round(toy: Sample) -> None:
    learner, pool = make_learner(QUICK, toy.x)
    warm = learner.prepare(pool)
    assert learner.evidence(warm, pool, np.full(200, -1, np.int8)) == []
    (seen,) = learner.evidence(warm, pool, toy.labels())
    known = np.flatnonzero(toy.labels() >= 0)
    assert seen.rows.tolist() == known.tolist()
    assert seen.labels.tolist() == toy.labels()[known].tolist()
    np.testing.assert_array_equal(seen.scores, warm.score(toy.x))
    np.testing.assert_array_equal(seen.embeddings, warm.embed(toy.x))


def test_members_have_seeds_of_their_own_and_the_same_each_time() -> None:
    learner, _, _ = table()
    first, again = learner.new_model(6), learner.new_model(6)
    other = replace(learner, seed=1).new_model(6)
    for (name, mine), same, changed in zip(
        first.backbone.named_parameters(), again.backbone.parameters(), other.backbone.parameters(), strict=True
    ):
        assert mine.equal(same), name
        assert not mine.equal(changed), name
        assert not mine[0].equal(mine[1]), f"both members start with the same {name}"
    assert learner.new_model(6, n_members=5).n_members == 5
