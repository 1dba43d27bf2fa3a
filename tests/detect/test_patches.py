"""Patches: where a defect lies, what labels change, and that the pool is measured as new pictures are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel.assess.metrics import auroc
from soel.detect.patches import Patches
from soel.detect.places import distances
from soel.types import Floats, Labels

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
    assert not Patches.fit(x, nothing(200), 0).knows(x[:15]).any()


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
    assert detector.knows(pool).sum() == len(detector.members) == 54
    assert not detector.knows(new).any()


class Mapped(np.ndarray):
    """An array that is read in stretches and never copied by rows, as a file too large for memory wants it."""

    def __getitem__(self, key: Any) -> Any:
        assert not isinstance(key, np.ndarray), "rows were copied"
        return super().__getitem__(key)


def test_a_whole_pool_is_scored_from_its_file_and_not_copied() -> None:
    x = pictures(200)
    detector = Patches.fit(x, nothing(200), 0)
    np.testing.assert_array_equal(detector.score(x.view(Mapped)), detector.score(x))


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
    faint = 0.4 * np.random.default_rng(4).normal(size=DEPTH)
    x[:12, 4] += faint.astype(np.float16)
    before = Patches.fit(x, labels, 0).score(x)
    labels[[0, 1, 2]], labels[[50, 51, 52]] = 1, 0
    after = Patches.fit(x, labels, 0).score(x)
    free, truth = np.flatnonzero(labels < 0), np.arange(200) < 12
    assert auroc(truth[free], before[free]) < 0.97  # there was something to learn
    assert auroc(truth[free], after[free]) > auroc(truth[free], before[free]) + 0.02


def test_what_looks_like_a_labelled_anomaly_is_not_learnt_from() -> None:
    faint, n_before, n_after = 0.3 * np.random.default_rng(4).normal(size=DEPTH), 0, 0
    for seed in range(8):
        x, labels = pictures(200, seed), nothing(200)
        x[np.arange(20), np.arange(20) % 4] += faint.astype(np.float16)
        n_before += int(Patches.fit(x[6:], labels[6:], 0).knows(x[6:20]).sum())
        labels[:6] = 1
        n_after += int(Patches.fit(x, labels, 0).knows(x[6:20]).sum())
    assert n_before > 40  # of 112 that are so faint that they are taken for normal while nobody labels
    assert n_after < 0.7 * n_before


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


def test_a_label_is_no_witness_to_itself() -> None:
    x, labels = pictures(200), nothing(200)
    labels[[0, 1]], labels[[50, 51]] = 1, 0  # nothing is to be seen: each resembles only itself
    alone = [Patches.fit(x, labels, seed).foresight[0] for seed in range(3)]
    assert max(alone) < 0.95


def test_a_model_of_a_release_without_examples_opens() -> None:
    x = pictures(60)
    arrays = Patches.fit(x, nothing(60), 0).arrays()
    older = Patches.from_arrays({name: arrays[name] for name in arrays if name not in ("anomalous", "harmless")})
    assert np.array_equal(older.score(x), Patches.fit(x, nothing(60), 0).score(x))


def test_a_model_of_a_release_without_scales_scores_as_it_did() -> None:
    x = pictures(60)
    arrays = Patches.fit(x, nothing(60), 0).arrays()
    new = ("factors", "powers", "reach")
    older = Patches.from_arrays({name: arrays[name] for name in arrays if name not in new} | {"members": np.ones(60)})
    np.testing.assert_allclose(older.maps(x), distances(x, older.means, older.whitenings), rtol=1e-4)


def test_a_place_that_is_restless_anyway_does_not_drown_a_defect_elsewhere() -> None:
    x, rng = np.asarray(pictures(300), np.float64), np.random.default_rng(5)
    usual = np.median(x, axis=0)
    x[:, :5] = usual[:5] + (x[:, :5] - usual[:5]) * np.exp(0.8 * rng.normal(size=(300, 5, 1)))
    x[np.arange(20), 5 + np.arange(20)] += 0.6 * rng.choice([-1, 1], (20, DEPTH))
    detector = Patches.fit(x, nothing(300), 0)
    plain = replace(detector, factors=np.ones(PLACES, np.float32), powers=np.ones(PLACES, np.float32))
    truth = np.arange(300) < 20
    assert auroc(truth, detector.score(x)) > auroc(truth, plain.score(x)) + 0.02


def test_one_example_does_little_where_usual_pictures_are_much_alike() -> None:
    x, labels = pictures(300, n_defective=20), nothing(300)
    labels[0], labels[100:110] = 1, 0
    detector = Patches.fit(x, labels, 0)
    usual = np.median(np.log(np.sort(detector.maps(x)[20:], axis=1)[:, -3:].mean(axis=1)))
    assert 0 < float(detector.reach[0]) < 6 * usual
    far = replace(detector, reach=np.array([3.0], np.float32))
    truth = np.arange(1, 300) < 20
    assert auroc(truth, detector.score(x[1:])) > auroc(truth, far.score(x[1:]))


@pytest.mark.parametrize(
    ("anomalies", "normals", "expected"), [((0, 1, 2, 3, 4, 5), (30, 40, 50, 60, 70, 80), 6.6), ((30, 40), (0, 1), 0)]
)
def test_trust_follows_the_labels(anomalies: tuple[int, ...], normals: tuple[int, ...], expected: float) -> None:
    x, labels = pictures(200, n_defective=15), nothing(200)
    assert Patches.fit(x, labels, 0).trust == 8 * 0.75**3
    labels[list(anomalies)], labels[list(normals)] = 1, 0
    assert abs(Patches.fit(x, labels, 0).trust - expected) < 0.5


def test_a_large_pool_is_learnt_from_a_sample_with_every_labelled_normal_picture() -> None:
    x, labels = pictures(300), nothing(300)
    labels[[7, 8, 9]] = 0
    detector = Patches.fit(x, labels, 0, 0.0, {"fitted_rows": 50})
    assert len(detector.members) == 45  # a tenth is suspicious, whoever says that nothing is
    assert detector.knows(x[[7, 8, 9]]).all()
    assert np.isfinite(detector.score(x)).all()
