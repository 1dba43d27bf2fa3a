"""What the patches of a pool add to the loop, and what stays as it was without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soel.assess.metrics import auroc
from soel.errors import DataError
from soel.learner import Learner
from soel.model import Fitted, restore, state_of
from soel.settings import DEFAULT
from soel.types import Floats, Kind, Pool

QUICK = replace(DEFAULT, vectors=replace(DEFAULT.vectors, deep_weight=0.0, patch_detector="patches"), narrows=False)
TRUTH = np.arange(120) < 12


def pool_of(with_patches: bool = True) -> Pool:
    """Rows that say nothing, and patches of which one shows each anomaly."""
    rng = np.random.default_rng(0)
    rows, patches = rng.normal(size=(120, 20)).astype(np.float32), rng.normal(size=(120, 9, 4))
    patches[:12, 3] += 6
    return Pool.of(rows, Kind.VECTORS, patches.astype(np.float16) if with_patches else None)


def learner_of() -> Learner:
    return Learner(QUICK.settle(Kind.VECTORS, 20), 0)


def labels_of(*anomalies: int, normals: tuple[int, ...] = ()) -> np.ndarray:
    labels = np.full(120, -1, np.int8)
    labels[list(anomalies)], labels[list(normals)] = 1, 0
    return labels


def fitted_of(pool: Pool, labels: np.ndarray) -> Fitted:
    learner = learner_of()
    warm = learner.prepare(pool)
    return learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)


def scores_of(fitted: Fitted, pool: Pool) -> Floats:
    return fitted.score(pool.rows, pool.patches)


def test_patches_show_what_rows_do_not() -> None:
    learner, labels = learner_of(), labels_of(0, 1, normals=(50, 60))
    pools = pool_of(), pool_of(False)
    before, without = (auroc(TRUTH, learner.look(learner.prepare(pool), pool)[0]) for pool in pools)
    assert before > without + 0.2
    after, without = (auroc(TRUTH, fitted_of(pool, labels).pool_scores) for pool in pools)
    assert after > without + 0.2


def test_a_model_keeps_its_patches_and_asks_for_them() -> None:
    pool = pool_of()
    fitted = fitted_of(pool, labels_of(0, normals=(50,)))
    arrays, notes = state_of(fitted)
    again = restore(arrays, notes, lambda: pytest.fail("there is no network"))
    assert isinstance(again, Fitted)
    np.testing.assert_array_equal(scores_of(again, pool), scores_of(fitted, pool))
    with pytest.raises(DataError, match="patches of pictures"):
        fitted.score(pool.rows)


def test_of_frames_of_one_second_one_is_asked() -> None:
    pool, learner = pool_of(), learner_of()
    moments = np.stack([np.zeros(120), np.arange(120) // 12 + np.arange(120) / 1000], axis=1)  # ten sights, far apart
    moments[:, 1] *= 2
    warm, labels = learner.prepare(pool), labels_of()
    proposal = learner.propose(warm, replace(pool, moments=moments), labels, 4, for_record=True)
    plain = learner.propose(warm, pool, labels, 4, for_record=True)
    assert sorted(proposal.rows) == sorted(plain.rows)  # nothing is lost
    n_sights = min(4, len(set(proposal.rows // 12)))
    assert len(set(proposal.rows[:4] // 12)) == n_sights
    answered = labels_of(normals=(int(plain.rows[0]),))
    after = learner.propose(warm, replace(pool, moments=moments), answered, 2, for_record=True)
    assert after.rows[0] // 12 != plain.rows[0] // 12


def test_the_marked_patch_is_the_one_that_is_learnt_from() -> None:
    """Whatever the other places of the marked picture show: what is learnt follows the marked one alone."""
    labels, marked = labels_of(0, normals=(60,)), np.zeros((120, 9), bool)
    marked[0, 5] = True

    def learnt_with(place: int | None) -> Floats:
        pool = pool_of()
        assert pool.patches is not None
        if place is not None:
            pool.patches[0, place] *= -1
        part = fitted_of(replace(pool, marked=marked), labels).patches
        assert part is not None
        return np.asarray(part.detector.arrays()["anomalous"])

    plain = learnt_with(None)
    assert plain.shape == (1, 4)
    np.testing.assert_array_equal(learnt_with(3), plain)  # which is the unusual one
    assert np.abs(learnt_with(5) - plain).max() > 0.1


def test_questions_ask_about_what_patches_show_and_keep_a_fourth_to_chance() -> None:
    settled = replace(DEFAULT, vectors=QUICK.vectors).settle(Kind.VECTORS, 20, has_patches=True)
    assert (settled.strategy, settled.schedule.deep_weight) == ("highest", 0.0)
    assert DEFAULT.settle(Kind.VECTORS, 20).strategy != "highest"
    patches, learner = np.random.default_rng(1).normal(size=(120, 9, 4)), Learner(settled, 0)
    patches[np.arange(12), np.arange(12) % 9] += 6
    pool = replace(pool_of(), patches=patches.astype(np.float16))
    warm, labels, odds = learner.prepare(pool), labels_of(), list[float]()
    for _ in range(12):
        selection = learner.propose(warm, pool, labels, 1, share=0.1).selection
        labels[selection.rows] = TRUTH[selection.rows]
        odds += selection.odds.tolist()
    assert int((labels == 1).sum()) >= 8
    assert [at % 4 for at, chance in enumerate(odds) if chance < 1] == [3] * 3
    several = learner.propose(warm, pool, labels_of(), 8, share=0.1).selection
    assert [chance < 1 for chance in several.odds] == [False, False, False, True] * 2


def test_who_waits_for_patches_is_told_how_far_they_are() -> None:
    learner, pool, told = learner_of(), pool_of(), list[int]()
    warm = learner.prepare(pool, lambda done, _: told.append(done))
    assert told[-5:] == [0, 1, 2, 3, 4]
    told.clear()
    labels = labels_of()
    learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels, lambda done, _: told.append(done))
    assert told[-5:] == [0, 1, 2, 3, 4]


def test_an_answer_is_heard_before_the_next_fit() -> None:
    """A sight that was called an anomaly is asked about before an equally unusual one that was called normal."""
    patches = np.random.default_rng(1).normal(size=(120, 9, 4))
    east, north = np.eye(4)[0] * 9, np.eye(4)[1] * 9
    patches[[0, 1], [2, 5]] += east
    patches[[2, 3], [2, 5]] += north
    pool, learner = replace(pool_of(), patches=patches.astype(np.float16)), learner_of()
    learner = replace(learner, profile=replace(learner.profile, strategy="highest"))
    warm = learner.prepare(pool)
    for anomaly, normal in ((0, 2), (2, 0)):
        row = learner.propose(warm, pool, labels_of(anomaly, normals=(normal, 60, 61)), 1, share=0.1).rows[0]
        assert row == anomaly + 1
