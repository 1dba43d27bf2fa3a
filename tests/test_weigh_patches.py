"""Patches count less where whole pictures foretell withheld labels far better, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect.angular import Angular
from soel.detect.detector import Detector
from soel.detect.foresight import trust_in
from soel.model import weigh_patches
from soel.types import Floats, Labels

N_ROWS = 40


class Told(Detector):
    """Scores a row by its first value; remembers which labels it was told."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    @classmethod
    def fit(cls, pool: Floats, labels: Labels, *_: object) -> Told:
        return cls(labels)

    def score(self, x: Floats) -> Floats:
        return np.asarray(x[:, 0])

    def space(self, x: Floats) -> Floats:
        return x


def labels_of(n_each: int) -> Labels:
    labels = np.full(N_ROWS, -1, np.int8)
    labels[:n_each], labels[20 : 20 + n_each] = 1, 0
    return labels


def rows_of(foretells: bool) -> Floats:
    """One value, higher for the first half of the rows; or lower, which tells all the wrong way round."""
    return np.where(np.arange(N_ROWS) < 20, 1.0, -1.0)[:, None] * (1 if foretells else -1)


def test_whole_pictures_that_foretell_far_better_by_hand() -> None:
    labels = labels_of(6)
    rival = trust_in((6 + 2 * 0.875) / 8)  # every label foretold, and two that are assumed
    assert weigh_patches(1.0, rows_of(True), labels, Told.fit, 0) == pytest.approx((1.5 / rival) ** 2)


def test_nothing_is_fitted_where_patches_are_good_enough_or_worth_nothing_or_nobody_labelled() -> None:
    def fit(rows: Floats, labels: Labels) -> Detector:
        raise AssertionError("not needed")

    assert weigh_patches(5.0, rows_of(True), labels_of(6), fit, 0) == 5
    assert weigh_patches(0.0, rows_of(True), labels_of(6), fit, 0) == 0
    assert weigh_patches(trust_in(0.875), rows_of(True), labels_of(0), fit, 0) == trust_in(0.875)


def test_each_label_is_withheld_once_and_all_others_are_told() -> None:
    labels, heard = labels_of(6), []

    def fit(rows: Floats, told: Labels) -> Detector:
        heard.append(told)
        return Told(told)

    weigh_patches(1.0, rows_of(True), labels, fit, 0)
    withheld = np.array([(told < 0) & (labels >= 0) for told in heard])
    np.testing.assert_array_equal(withheld.sum(axis=0), labels >= 0)
    assert all((told[told >= 0] == labels[told >= 0]).all() for told in heard)


def test_a_detector_learns_nothing_of_the_label_it_foretells() -> None:
    """Rows that say nothing: a detector told their labels would foretell all of them, one that is not does not."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(400, 30)).astype(np.float32), np.full(400, -1, np.int8)
    labels[:20], labels[20:40] = 1, 0

    def fit(rows: Floats, told: Labels) -> Detector:
        return Angular.fit(rows, told, 0)

    assert weigh_patches(1.0, rows, labels, fit, 0) == 1.0
