"""Each step of the detector of patches, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect import examples
from soel.detect.examples import EXAMPLES, QUIET_ALIKE, SAME, Examples, find_examples, weigh_arms
from soel.detect.fingerprints import fingerprints
from soel.detect.foresight import judge_foresight
from soel.detect.patches import (
    SMALLEST,
    Patches,
    _fitted_rows,
    _Lesson,
    _score_without_own_label,
    _spread_below,
    _unsuspected,
    _Usual,
    _worst,
)
from soel.detect.places import Gaussians
from soel.types import ANOMALY, NORMAL, Floats

NONE = np.zeros((0, 2), np.float32)


def round_normal(n_places: int) -> Gaussians:
    """At every place a round cloud about 0: a patch is its own arm."""
    return Gaussians(np.zeros((n_places, 2)), np.repeat(np.eye(2)[None], n_places, axis=0), 0.0)


def detector(n_places: int, **changed: Floats) -> Patches:
    normal, one = round_normal(n_places), np.ones(1)
    arrays = {"means": normal.means, "whitenings": normal.whitenings, "leverage": np.zeros(1)}
    arrays |= {"members": np.zeros((0, 2)), "limit": one, "foresight": one, "middle": np.zeros(1), "spread": one}
    return Patches.from_arrays(arrays | changed)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_picture_is_as_unusual_as_its_three_worst_patches() -> None:
    maps = np.array([[1.0, 2.0, 3.0, 4.0], [9.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(_worst(maps), np.log(np.array([3, 3]) + SMALLEST))
    np.testing.assert_allclose(_worst(maps[:, :2]), np.log(np.array([1.5, 4.5]) + SMALLEST))
    np.testing.assert_allclose(_worst(np.zeros((1, 4))), np.log([SMALLEST]))


def test_scores_and_points_of_pictures_by_hand() -> None:
    x = np.array([[[3.0, 4.0], [0.0, 1.0], [0.0, 2.0], [-6.0, 8.0]]])  # 5, 1, 2 and 10 from the middle
    fitted = detector(4, middle=np.array([1.0]), spread=np.array([2.0]))
    np.testing.assert_allclose(fitted.maps(x), [[5, 1, 2, 10]], rtol=1e-5)
    np.testing.assert_allclose(fitted.score(x), [(np.log(17 / 3) - 1) / 2], rtol=1e-5)
    np.testing.assert_allclose(fitted.space(x), [[(3 + 0 - 6) / 3, (4 + 2 + 8) / 3]], rtol=1e-5)


def test_factors_and_powers_bring_each_place_to_one_scale() -> None:
    x = np.array([[[3.0, 4.0], [0.0, 3.0]]])
    fitted = detector(2, factors=np.array([2.0, 0.5]), powers=np.array([1.0, 2.0]))
    np.testing.assert_allclose(fitted.maps(x), [[2 * 5, 0.5 * 9]], rtol=1e-5)


def test_only_pictures_that_were_learnt_from_are_measured_without_themselves() -> None:
    x = 2 * np.array([[[0.0, 1.0]], [[1.0, 0.0]], [[0.0, -1.0]], [[-1.0, 0.0]]])
    fitted = detector(1, members=fingerprints(x[[0, 2]]), leverage=np.array([0.1]))
    left_out = np.sqrt(2 / 1 * 4 / (1 - 0.1 * 4))  # one of two that were fitted
    np.testing.assert_allclose(fitted.maps(x)[:, 0], [left_out, 2, left_out, 2], rtol=1e-5)
    np.testing.assert_allclose(fitted.maps(x[[3, 2]])[:, 0], [2, left_out], rtol=1e-5)


def test_a_detector_that_knew_pictures_by_their_place_takes_them_for_new_ones() -> None:
    fitted = detector(1, members=np.array([1.0, 0, 1, 0]), leverage=np.array([0.1]))
    np.testing.assert_allclose(fitted.maps(np.array([[[0.0, 2.0]]])), [[2]], rtol=1e-5)


@pytest.mark.parametrize(("foresight", "trust"), [(1.0, 8.0), (0.875, 3.375), (0.75, 1.0), (0.5, 0.0), (0.2, 0.0)])
def test_trust_by_hand(foresight: float, trust: float) -> None:
    assert detector(1, foresight=np.array([foresight])).trust == pytest.approx(trust)


def test_the_chance_of_the_right_order_is_drawn_towards_what_is_assumed() -> None:
    labels = np.array([ANOMALY, ANOMALY, NORMAL, NORMAL, NORMAL, -1], np.int8)
    scores = np.array([5.0, 1.0, 0.0, 1.0, 9.0, 100.0])
    # 5 lies above 0 and 1; 1 above 0 and level with 1: 3.5 of six pairs. Two of a kind stand beside two assumed ones.
    assert judge_foresight(scores, labels) == pytest.approx((2 * 3.5 / 6 + 2 * 0.875) / 4)
    for kind in (ANOMALY, NORMAL):
        assert judge_foresight(scores, np.where(labels == kind, kind, -1)) == 0.875


def test_what_examples_make_of_a_patch() -> None:
    east, north = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    for arm, alike, quiet in (((0.6, 0.8), 0.6, 0.8), ((0.8, 0.6), 0.8, 0.6), ((0.0, 3.0), 0, 1), ((-2.0, 0.0), 0, 0)):
        wanted = np.exp(2 * alike - QUIET_ALIKE * max(quiet - max(alike, SAME), 0))
        np.testing.assert_allclose(weigh_arms(np.array([[arm]]), east, north, 2.0), [[wanted]], rtol=1e-6)
    half = np.array([[[np.sqrt(1 - 0.49**2), 0.49]]])
    assert weigh_arms(half, NONE, north, 2.0) == 1, "too unlike what was called normal"


def test_the_worst_patches_of_a_labelled_picture_are_examples() -> None:
    x = np.zeros((3, EXAMPLES + 2, 2), np.float16)
    x[1, :, 0] = np.arange(1, EXAMPLES + 3)
    x[1, -1] = [0.0, 9.0]
    found = np.linalg.norm(x.astype(np.float32), axis=2)
    labels = np.array([NORMAL, ANOMALY, -1], np.int8)
    seen = find_examples(round_normal(EXAMPLES + 2), x, found, labels, ANOMALY, None, rng())
    np.testing.assert_allclose(seen.arms, [[0, 1], *[[1, 0]] * (EXAMPLES - 1)])
    assert seen.owners.tolist() == [1] * EXAMPLES
    at_rest = find_examples(round_normal(EXAMPLES + 2), x, found, labels, NORMAL, None, rng())
    assert not at_rest.arms.any(), "what does not differ has no direction"


def test_of_marked_patches_the_worst_are_examples_and_marks_say_nothing_of_normal_pictures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examples, "MOST_MARKED", 2)
    monkeypatch.setattr(examples, "EXAMPLES", 1)
    x = np.array([[[9.0, 0.0], [0.0, 3.0], [1.0, 0.0], [-4.0, 0.0]]] * 2, np.float32)
    found, marked = np.linalg.norm(x, axis=2), np.array([[False, True, True, True]] * 2)
    labels = np.array([ANOMALY, NORMAL], np.int8)
    told = [find_examples(round_normal(4), x, found, labels, kind, marked, rng()).arms for kind in (ANOMALY, NORMAL)]
    assert [arms.tolist() for arms in told] == [[[-1, 0], [0, 1]], [[1, 0]]]
    untold = find_examples(round_normal(4), x, found, labels, ANOMALY, np.zeros((2, 4), bool), rng())
    assert untold.arms.tolist() == [[1, 0]]


def test_of_many_labelled_pictures_some_are_examples_each_with_all_its_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "MOST_PICTURES", 3)
    x = rng().normal(size=(10, 4, 2)).astype(np.float32)
    labels = np.where(np.arange(10) < 8, ANOMALY, NORMAL).astype(np.int8)
    seen = find_examples(round_normal(4), x, np.linalg.norm(x, axis=2), labels, ANOMALY, None, rng())
    owners, counts = np.unique(seen.owners, return_counts=True)
    assert counts.tolist() == [4, 4, 4]
    assert owners.max() < 8
    for owner, arm in zip(seen.owners, seen.arms, strict=True):
        cosines = (x[owner] @ arm) / np.linalg.norm(x[owner], axis=1)
        assert cosines.max() == pytest.approx(1, abs=1e-5)


def test_a_picture_is_weighed_by_the_examples_of_others_when_its_label_is_withheld() -> None:
    x = np.array([[[2.0, 0.0]], [[3.0, 0.0]], [[0.0, 5.0]], [[7.0, 0.0]]], np.float32)
    usual = _Usual(round_normal(1), np.linalg.norm(x, axis=2), np.ones(1), np.ones(1))
    anomalous = Examples(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0, 1, 2]))
    lesson = _Lesson(usual, anomalous, Examples(NONE, np.zeros(0, np.int64)), 1.0, usual.found)
    raw = _score_without_own_label(lesson, x)
    # 0 and 1 bear each other out, 2 stands alone; 3 has no label, and stays as it is without any
    np.testing.assert_allclose(raw, np.log([2 * np.e, 3 * np.e, 5, 7]), rtol=1e-5)


@pytest.mark.parametrize(("share", "kept"), [(None, 18), (0.0, 18), (0.25, 15), (0.9, 10)])
def test_a_tenth_to_a_half_is_suspected_but_no_picture_labelled_normal(share: float | None, kept: int) -> None:
    scores, rows, labels = np.arange(40.0), np.arange(20), np.full(40, -1, np.int8)
    assert _unsuspected(scores, rows, labels, share).tolist() == list(range(kept)), "what was not fitted plays no part"
    labels[19] = NORMAL
    assert _unsuspected(scores, rows, labels, share).tolist() == [*range(kept), 19]


def test_of_two_pictures_none_is_left_out() -> None:
    assert _unsuspected(np.array([1.0, 2.0]), np.arange(2), np.full(2, -1, np.int8), 0.5).tolist() == [0, 1]


def test_which_pictures_are_learnt_from() -> None:
    labels = np.array([ANOMALY, -1, -1, NORMAL, -1, NORMAL, -1, NORMAL], np.int8)
    assert _fitted_rows(labels, 7, rng()).tolist() == [1, 2, 3, 4, 5, 6, 7]
    some = _fitted_rows(labels, 5, rng()).tolist()
    assert len(set(some)) == 5
    assert {3, 5, 7} < set(some) <= {1, 2, 3, 4, 5, 6, 7}
    assert _fitted_rows(labels, 2, rng()).tolist() == [3, 5], "the labels alone are more than fit"
    almost_all = np.array([ANOMALY, ANOMALY, -1], np.int8)
    assert _fitted_rows(almost_all, 7, rng()).tolist() == [0, 1, 2], "one picture has no spread"


def test_the_spread_is_that_of_the_lower_part() -> None:
    scores = np.arange(101.0)
    assert _spread_below(scores) == pytest.approx(50 - 16)
    scores[60:] = 1e6
    assert _spread_below(scores) == pytest.approx(50 - 16), "anomalies do not widen it"
