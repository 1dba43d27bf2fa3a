"""Patches: where a defect lies, what labels change, and that the pool is measured as new pictures are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soel.assess.metrics import auroc
from soel.detect.fingerprints import fingerprints, is_among
from soel.detect.patches import SMALLEST, Patches, _factor, _fitted_rows, _unsuspected, _worst
from soel.types import ANOMALY, NORMAL, UNLABELLED, Booleans, Floats, Labels

PLACES, DEPTH = 25, 6


def pictures(n: int, seed: int = 0, n_defective: int = 0) -> Floats:
    """Patches of aligned pictures; each of the first n_defective has another patch at one place."""
    rng = np.random.default_rng(seed)
    layout = np.random.default_rng(99)
    usual, turns = layout.normal(size=(PLACES, DEPTH)), np.linalg.qr(layout.normal(size=(PLACES, DEPTH, DEPTH)))[0]
    drawn = 0.3 * rng.normal(size=(n, PLACES, DEPTH)) * [1.5, 1, 0.7, 0.5, 0.3, 0.2]
    x = usual + np.einsum("npi,pij->npj", drawn, turns)
    x[np.arange(n_defective), np.arange(n_defective) % PLACES] += 2 * rng.choice([-1, 1], (n_defective, DEPTH))
    return np.asarray(x, np.float16)


def nothing(n: int) -> Labels:
    return np.full(n, -1, np.int8)


def knows(detector: Patches, x: Floats) -> Booleans:
    return is_among(fingerprints(x), detector.members)


def test_the_map_points_at_the_defect() -> None:
    x = pictures(200, n_defective=15)
    detector = Patches.fit(x, nothing(200), 0)
    maps = detector.maps(x)
    assert maps.shape == (200, PLACES)
    assert maps[:15].argmax(axis=1).tolist() == (np.arange(15) % PLACES).tolist()
    assert auroc(np.arange(200) < 15, detector.score(x)) > 0.99


def test_the_limit_is_passed_where_the_defects_are_and_seldom_elsewhere() -> None:
    x = pictures(200, n_defective=15)
    detector = Patches.fit(x, nothing(200), 0)
    above = detector.maps(x) > detector.limit
    assert above[np.arange(15), np.arange(15) % PLACES].all()
    assert above[15:].any(axis=1).mean() < 0.2


def test_the_most_suspicious_pictures_are_not_learnt_from() -> None:
    x = pictures(200, n_defective=15)
    assert not knows(Patches.fit(x, nothing(200), 0), x[:15]).any()


def test_pictures_of_the_pool_are_measured_as_new_ones_are() -> None:
    pool, new = pictures(60), pictures(400, seed=1)
    detector = Patches.fit(pool, nothing(60), 0, share=0.0)
    apart = detector.score(new).mean() - detector.score(pool).mean()
    assert abs(apart) < 0.25  # in spreads of the pool
    forgetful = replace(detector, members=np.zeros((0, 2)))
    assert forgetful.score(new).mean() - forgetful.score(pool).mean() > 0.5  # what it would be otherwise


def test_a_picture_has_its_own_score_wherever_it_stands() -> None:
    pool, new = pictures(60), pictures(5, seed=1)
    detector = Patches.fit(pool, nothing(60), 0)
    grown = np.concatenate([new[:2], pool[7:], new[2:]])  # some were removed, some were added
    np.testing.assert_allclose(detector.score(grown)[2:55], detector.score(pool)[7:], rtol=1e-6)
    assert knows(detector, pool).sum() == len(detector.members) == 54
    assert not knows(detector, new).any()


def test_a_false_alarm_once_named_stays_quiet() -> None:
    x = pictures(200, n_defective=2)
    x[2, 0] = x[3, 7] = x[0, 0]  # the same sight in another picture, and at another place
    labels = nothing(200)
    before = Patches.fit(x, labels, 0)
    labels[0] = 0
    after = Patches.fit(x, labels, 0)
    assert (after.score(x) - before.score(x))[[0, 2]].max() < -1.5  # in spreads of the pool
    assert (after.maps(x) / after.limit)[[0, 2], 0].max() < 1 < (before.maps(x) / before.limit)[[0, 2], 0].min()
    assert after.maps(x)[1, 1] > after.limit  # another defect stays one


def test_what_one_anomaly_showed_is_found_in_others() -> None:
    x, labels = pictures(200), nothing(200)
    faint = 0.3 * np.random.default_rng(4).normal(size=DEPTH)
    x[:12, 4] += faint.astype(np.float16)
    before = Patches.fit(x, labels, 0).score(x)
    labels[[0, 1, 2]], labels[[50, 51, 52]] = 1, 0
    after = Patches.fit(x, labels, 0).score(x)
    free, truth = np.flatnonzero(labels < 0), np.arange(200) < 12
    assert auroc(truth[free], before[free]) < 0.97  # there was something to learn
    assert auroc(truth[free], after[free]) > auroc(truth[free], before[free]) + 0.02


def test_a_mark_says_which_patch_it_was() -> None:
    x, labels = pictures(200), nothing(200)
    loud, faint = (size * np.random.default_rng(seed).normal(size=DEPTH) for size, seed in ((2.5, 8), (0.3, 4)))
    x[0, 20] += loud.astype(np.float16)  # what is worst in the labelled picture is not what the expert means
    x[:12, 4] += faint.astype(np.float16)
    labels[0], labels[50] = 1, 0
    marked = np.zeros((200, PLACES), bool)
    marked[0, 4] = True
    assert Patches.fit(x, labels, 0, marked=marked).anomalous.shape == (1, DEPTH)
    free, truth = np.flatnonzero(labels < 0), np.arange(200) < 12
    plain, pointed = (Patches.fit(x, labels, 0, marked=each).score(x)[free] for each in (None, marked))
    assert auroc(truth[free], pointed) > auroc(truth[free], plain) + 0.02


def test_a_large_pool_is_learnt_from_a_sample_with_every_labelled_normal_picture() -> None:
    x, labels = pictures(300), nothing(300)
    labels[[7, 8, 9]] = 0
    detector = Patches.fit(x, labels, 0, 0.0, {"fitted_rows": 50})
    assert len(detector.members) == 45  # a tenth is suspicious, whoever says that nothing is
    assert knows(detector, x[[7, 8, 9]]).all()
    assert np.isfinite(detector.score(x)).all()


def test_answers_since_the_fit_raise_what_looks_like_them() -> None:
    x, labels = pictures(200), nothing(200)
    faint = 0.5 * np.random.default_rng(4).normal(size=DEPTH)
    x[:12, 4] += faint.astype(np.float16)
    detector = Patches.fit(x, labels, 0)
    rows, gain = detector.gain(labels)
    assert not gain.any(), "nobody answered"
    labels[50] = NORMAL
    rows, gain = detector.gain(labels)
    assert gain[rows == 50] < -1
    labels[50], labels[0] = -1, ANOMALY
    rows, gain = detector.gain(labels)
    assert np.median(gain[1:12]) > np.median(gain[12:])
    assert not len(detector.gain(labels[:-1])[0]), "the pool is another one"


def test_a_model_comes_back_as_it_was() -> None:
    x, labels = pictures(60), nothing(60)
    labels[:2], labels[2:4] = ANOMALY, NORMAL
    detector = Patches.fit(x, labels, 0)
    again = Patches.from_arrays(detector.arrays())
    np.testing.assert_array_equal(again.score(x), detector.score(x))
    np.testing.assert_array_equal(again.gain(labels)[1], detector.gain(labels)[1])


def test_what_a_fit_measured_is_what_its_model_says() -> None:
    detector = Patches.fit(pictures(60), nothing(60), 0)
    scores = detector.score(pictures(60))
    assert abs(scores.mean()) < 1e-4
    assert scores.std() == pytest.approx(1, abs=1e-4)


def test_a_picture_is_as_unusual_as_its_three_worst_patches() -> None:
    maps = np.array([[1.0, 2.0, 3.0, 4.0], [9.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(_worst(maps), np.log(np.array([3, 3]) + SMALLEST))
    np.testing.assert_allclose(_worst(maps[:, :2]), np.log(np.array([1.5, 4.5]) + SMALLEST))


def test_what_a_direction_is_worth_by_hand() -> None:
    east, north = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    for arm, wanted in (((0.6, 0.8), 1 + 2 * 0.36 - 0.64), ((1, 0), 3), ((0, 1), 0), ((-1, 0), 1), ((0, -1), 1)):
        np.testing.assert_allclose(_factor(np.array([arm]), east, north), [wanted], atol=1e-9)
    assert _factor(np.array([[1.0, 0.0]]), east[:0], north[:0]) == 1


def test_a_tenth_is_suspected_but_no_picture_labelled_normal() -> None:
    scores, labels = np.arange(20.0), nothing(20)
    assert np.flatnonzero(_unsuspected(scores, labels)).tolist() == list(range(18))
    labels[19] = NORMAL
    assert np.flatnonzero(_unsuspected(scores, labels)).tolist() == [*range(18), 19]
    assert _unsuspected(np.array([1.0, 2.0]), nothing(2)).all(), "of two none is left out"


def test_which_pictures_are_learnt_from() -> None:
    labels, rng = np.array([ANOMALY, -1, -1, NORMAL, -1, NORMAL, -1, NORMAL], np.int8), np.random.default_rng(0)
    assert _fitted_rows(labels, 7, rng).tolist() == [1, 2, 3, 4, 5, 6, 7]
    some = set(_fitted_rows(labels, 5, rng).tolist())
    assert len(some) == 5
    assert {3, 5, 7} < some <= {1, 2, 3, 4, 5, 6, 7}
    assert _fitted_rows(labels, 2, rng).tolist() == [3, 5], "the labels alone are more than fit"
    almost_all = np.array([ANOMALY, ANOMALY, -1], np.int8)
    assert _fitted_rows(almost_all, 7, rng).tolist() == [0, 1, 2], "one picture has no spread"


def test_a_fit_tells_how_far_it_is() -> None:
    told = list[tuple[int, int]]()
    x = np.random.default_rng(0).normal(size=(40, 4, 3)).astype(np.float16)
    Patches.fit(x, np.full(40, UNLABELLED, np.int8), 0, progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 4) for n in range(5)]
