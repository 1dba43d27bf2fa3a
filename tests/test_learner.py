"""The one loop: what it computes, what it does not, and that all its callers get the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel import SOEL, networks
from soel.assess.metrics import auroc
from soel.errors import ConfigError
from soel.learner import NO_SCORES, Learner
from soel.model import Blend, Fitted, restore, state_of
from soel.settings import DEFAULT, PAPER, Profile
from soel.types import Kind, Pool
from tests.conftest import Sample, make_learner, make_toy
from tests.variants import BESIDE_A_NETWORK

QUICK = replace(BESIDE_A_NETWORK, tables=replace(BESIDE_A_NETWORK.tables, epochs=2), n_members=2)
SHORT = replace(PAPER, tables=replace(PAPER.tables, epochs=2))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The heavy steps that were taken: of the network, and of the model over the whole pool."""
    taken: list[str] = []

    def count(owner: Any, name: str) -> None:
        step = getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            taken.append(name)
            return step(*given, **named)

        monkeypatch.setattr(owner, name, counted)

    for name in ("warm_up", "fit", "losses", "gradient_embeddings"):
        count(networks, name)
    for name in ("score", "embed"):
        count(Blend, name)
    return taken


def test_a_question_by_the_default_looks_once_at_the_pool_and_trains_nothing(toy: Sample, calls: list[str]) -> None:
    learner, pool = make_learner(DEFAULT, toy.x)
    learner.propose(learner.prepare(pool), pool, np.full(200, -1, np.int8), 5)
    assert calls == ["embed"]


def test_a_fit_by_the_default_scores_the_pool_once(toy: Sample, calls: list[str]) -> None:
    learner, pool = make_learner(DEFAULT, toy.x)
    warm = learner.prepare(pool)
    learner.learn(warm, pool, learner.evidence(warm, pool, toy.labels()), toy.labels())
    assert calls == ["embed"]  # the network tells the share from points, and the detector scores the pool


def test_a_fit_scores_the_pool_once_by_each_part_and_once_for_the_estimate(toy: Sample, calls: list[str]) -> None:
    learner, pool = make_learner(QUICK, toy.x)
    warm = learner.prepare(pool)
    learner.learn(warm, pool, learner.evidence(warm, pool, toy.labels()), toy.labels())
    # the evidence, then the warm-up of the network with its spread, training, and the end
    assert calls == ["score", "embed", "warm_up", "losses", "fit", "losses"]


def test_without_labels_no_network_is_trained_that_nobody_would_hear(toy: Sample, calls: list[str]) -> None:
    learner, pool = make_learner(QUICK, toy.x)
    fitted = learner.learn(learner.prepare(pool), pool, [], np.full(200, -1, np.int8))
    assert calls == []
    assert fitted.network is None
    np.testing.assert_array_equal(fitted.score(toy.x), fitted.pool_scores)


def test_a_strategy_that_needs_gradients_gets_a_network(toy: Sample, calls: list[str]) -> None:
    learner, pool = make_learner(BESIDE_A_NETWORK.with_parts(strategy="gradient-diverse"), toy.x)
    warm = learner.prepare(pool)
    assert warm.network is not None
    np.testing.assert_array_equal(warm.score(toy.x), Blend(warm.detector).score(toy.x))
    calls.clear()
    learner.propose(warm, pool, toy.labels(), 3, share=0.1)
    assert calls == ["score", "gradient_embeddings"]


def test_a_question_knows_the_last_answer_without_training(toy: Sample, calls: list[str]) -> None:
    learner, pool = make_learner(BESIDE_A_NETWORK.with_parts(strategy="positive-distant"), toy.x)
    warm, labels = learner.prepare(pool), np.full(200, -1, np.int8)
    first = int(learner.propose(warm, pool, labels, 1).rows[0])
    assert first == int(warm.score(toy.x).argmax())
    calls.clear()
    answered = {}
    for label in (0, 1):
        labels[first] = label
        answered[label] = [int(row) for row in learner.propose(warm, pool, labels, 5).rows]
        assert first not in answered[label]
    assert answered[0] != answered[1]
    assert set(calls) == {"embed"}


def test_in_a_large_pool_a_question_looks_closely_at_some_rows(monkeypatch: pytest.MonkeyPatch, toy: Sample) -> None:
    monkeypatch.setattr("soel.learner.SCORED_AGAIN", 40)
    learner, pool = make_learner(BESIDE_A_NETWORK.with_parts(strategy="positive-distant"), toy.x)
    warm, labels = learner.prepare(pool), toy.labels()
    rows, scores = learner._query_scores(warm, pool, labels, None, None, 3, NO_SCORES)
    assert 30 <= len(rows) <= 40 + (labels >= 0).sum()
    assert set(np.flatnonzero(labels >= 0)) <= set(rows)
    detector = learner._fit_detector(pool.rows, labels, None)
    assert detector is not None
    ranked = detector.score(toy.x).argsort()[::-1]
    assert set(ranked[:20]) <= set(rows)
    np.testing.assert_allclose(scores, detector.score(toy.x)[rows])
    assert learner.propose(warm, pool, labels, 3).rows[0] in rows


def test_what_a_strategy_lacks_is_said_before_anything_is_computed(toy: Sample, calls: list[str]) -> None:
    learner, pool = make_learner(BESIDE_A_NETWORK.with_parts(strategy="margin"), toy.x)
    warm = learner.prepare(pool)
    with pytest.raises(ConfigError, match="share of anomalies"):
        learner.propose(warm, pool, toy.labels(), 3)
    assert calls == []


@pytest.mark.parametrize("strategy", ["diverse", "k-center", "random"])
def test_a_record_changes_nothing_of_what_is_asked(strategy: str, toy: Sample) -> None:
    learner, pool = make_learner(BESIDE_A_NETWORK.with_parts(strategy=strategy), toy.x)
    warm = learner.prepare(pool)
    plain = learner.propose(warm, pool, toy.labels(), 4)
    recorded = learner.propose(warm, pool, toy.labels(), 4, for_record=True)
    assert recorded.rows[:4].tolist() == plain.rows.tolist()
    assert len(recorded.rows) == 12
    assert recorded.seed == plain.seed == (0, 10)
    np.testing.assert_array_equal(recorded.scores, warm.score(toy.x))
    np.testing.assert_array_equal(recorded.embeddings, warm.embed(toy.x))


def test_a_seed_of_an_earlier_round_is_taken_as_it_is(toy: Sample) -> None:
    learner, pool = make_learner(SHORT, toy.x)
    warm, labels = learner.prepare(pool), np.full(200, -1, np.int8)
    by_rule = learner.propose(warm, pool, labels, 6)
    assert learner.propose(warm, pool, labels, 6, seed=(0, 0)).rows.tolist() == by_rule.rows.tolist()
    assert learner.propose(warm, pool, labels, 6, seed=(0, 1)).rows.tolist() != by_rule.rows.tolist()


def test_a_pool_is_known_by_its_content() -> None:
    x = make_toy().x
    same, other = Pool.of(x.copy(), Kind.TABLE), x.copy()
    other[3, 2] += 1
    assert Pool.of(x, Kind.TABLE).identity == same.identity
    assert Pool.of(other, Kind.TABLE).identity != same.identity
    assert Pool.of(x, Kind.VECTORS).identity != same.identity
    assert Pool.of(x.reshape(100, 12), Kind.TABLE).identity != same.identity


@pytest.mark.parametrize("profile", [QUICK, SHORT], ids=["with a detector", "a network alone"])
@pytest.mark.parametrize("with_labels", [True, False])
def test_models_survive_their_state(profile: Profile, with_labels: bool, toy: Sample) -> None:
    learner, pool = make_learner(profile, toy.x)
    warm = learner.prepare(pool)
    labels = toy.labels() if with_labels else np.full(200, -1, np.int8)
    fitted = learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)
    for model in (warm, fitted):
        again = restore(*state_of(model), lambda: learner.new_model(6))
        assert type(again) is type(model)
        np.testing.assert_array_equal(again.score(toy.x), model.score(toy.x))
        if isinstance(again, Fitted):
            assert again.threshold == fitted.threshold
            np.testing.assert_array_equal(again.pool_scores, fitted.pool_scores)


def test_an_unsettled_profile_says_so() -> None:
    with pytest.raises(ConfigError, match="does not say what the rows are"):
        _ = BESIDE_A_NETWORK.schedule


def test_query_and_fit_share_their_preparation_and_return_what_each_returns_alone(
    toy: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = SOEL(QUICK, random_state=0)
    alone = fresh.fit(toy.x, toy.labels()).anomaly_score(toy.x)
    n_prepared = 0
    prepare = Learner.prepare

    def count(*given: Any) -> Any:
        nonlocal n_prepared
        n_prepared += 1
        return prepare(*given)

    monkeypatch.setattr(Learner, "prepare", count)
    shared = SOEL(QUICK, random_state=0)
    rows = shared.query(toy.x, 5)
    scores = shared.fit(toy.x.copy(), toy.labels()).anomaly_score(toy.x)
    assert n_prepared == 1
    np.testing.assert_array_equal(scores, alone)
    assert shared.query(toy.x, 5).tolist() == rows.tolist()
    shared.query(toy.x + 1, 5)
    assert n_prepared == 2
    shared.set_params(random_state=1).query(toy.x + 1, 5)
    assert n_prepared == 3


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(toy: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = SOEL(QUICK, random_state=0).fit(toy.x, toy.labels())
    before = dict(vars(detector))

    def fail(*given: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Learner, "finish", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        detector.fit(toy.x[:, :4] * 2, toy.labels())
    assert vars(detector) == before


def test_the_pretrained_profile_needs_no_training_and_beats_chance_with_few_labels() -> None:
    toy = make_toy()
    detector = SOEL(random_state=0).fit(toy.x, toy.labels())
    rest = toy.labels() == -1
    assert detector.history_ == []
    assert auroc(toy.is_anomaly[rest], detector.anomaly_score(toy.x)[rest]) > 0.95
    new = make_toy(seed=1)
    assert auroc(new.is_anomaly, detector.anomaly_score(new.x)) > 0.95
