"""The laws of a detector without gradient steps. A part is the class."""

from __future__ import annotations

import numpy as np

from soel.assess.metrics import auroc
from soel.detect.base import Detector
from soel.errors import ConfigError
from soel.testing.laws import Law, check_all, expecting, laws_of, leaving_alone, require
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels

DetectorClass = type[Detector]
WIDTH, ROWS, ANOMALIES = 8, 120, 8


def check_detector(detector: DetectorClass) -> None:
    """Hold a detector's class against every law."""
    check_all(DETECTOR_LAWS, detector)


def example_pool(n_rows: int = ROWS) -> Floats:
    """Rows around one point; the first ANOMALIES lie far from it, and in another direction from the origin."""
    x = 1 + 0.3 * np.random.default_rng(0).normal(size=(n_rows, WIDTH))
    x[:ANOMALIES, : WIDTH // 2] -= 2
    return x.astype(np.float32)


def check_name_and_version_are_declared(detector: DetectorClass) -> None:
    """Model files name the detector and its version."""
    name, version = getattr(detector, "name", ""), detector.version
    require(isinstance(name, str) and name, f"A detector must have a name, got {name!r}.")
    require(isinstance(version, int) and version > 0, f"A version is a whole number from 1, got {version!r}.")


def check_scores_are_one_number_a_row(detector: DetectorClass) -> None:
    """(n,) and finite, whatever is labelled."""
    for case, labels in _cases().items():
        scores = detector.fit(example_pool(), labels, 0, 0.1).score(example_pool())
        require(scores.shape == (ROWS,), f"{ROWS} rows with {case} have scores of shape {scores.shape}.")
        require(np.isfinite(scores).all(), f"Scores must be finite; with {case} some are not.")


def check_scores_have_the_unit_of_the_pool(detector: DetectorClass) -> None:
    """Mean near 0 and spread near 1 over the pool, so that they add up with others."""
    for case, labels in _cases().items():
        scores = detector.fit(example_pool(), labels, 0, 0.1).score(example_pool())[labels == UNLABELLED]
        if len(scores) > ROWS / 2:
            require(abs(scores.mean()) < 0.75, f"With {case} the pool's mean score is {scores.mean():.2f}, not near 0.")
            require(1 / 3 < scores.std() < 3, f"With {case} the pool's scores spread by {scores.std():.2f}, not 1.")


def check_anomalies_score_higher(detector: DetectorClass) -> None:
    """The sign is right: a small group that lies far away comes out on top, with and without labels."""
    x, is_anomaly = example_pool(), np.arange(ROWS) < ANOMALIES
    before, after = (
        auroc(is_anomaly, detector.fit(x, labels, 0, share).score(x))
        for labels, share in ((_labels(), None), (_cases()["labels of both kinds"], 0.1))
    )
    require(before > 0.9, f"AUROC without a label is {before:.3f} on anomalies that lie far away.")
    require(after > 0.95, f"AUROC with labels is {after:.3f} on anomalies that lie far away.")


def check_labels_are_heeded(detector: DetectorClass) -> None:
    """A row scores higher where it is labelled anomaly than where it is labelled normal."""
    x, row, above = example_pool(), ROWS - 1, {}
    for kind in (NORMAL, ANOMALY):
        labels = _cases()["labels of both kinds"]
        labels[row] = kind
        scores = detector.fit(x, labels, 0, 0.1).score(x)
        above[kind] = float((scores < scores[row]).mean())
    require(
        above[ANOMALY] > above[NORMAL],
        f"A row lies above {above[NORMAL]:.2f} of the pool when labelled normal, {above[ANOMALY]:.2f} when anomaly.",
    )


def check_seeding_is_idempotent(detector: DetectorClass) -> None:
    """Equal seeds give equal scores."""
    labels = _cases()["labels of both kinds"]
    first, second = (detector.fit(example_pool(), labels, 5, 0.1).score(example_pool()) for _ in range(2))
    require(np.array_equal(first, second), "The same pool, labels and seed gave other scores the second time.")


def check_arrays_are_the_whole_detector(detector: DetectorClass) -> None:
    """A detector made from its arrays scores and compares as before, and a file can hold them."""
    fitted = detector.fit(example_pool(), _cases()["labels of both kinds"], 0, 0.1)
    arrays = fitted.arrays()
    for name, array in arrays.items():
        require(np.asarray(array).dtype.kind in "fiub", f"The array {name} has the type {array.dtype}: not numbers.")
    again = detector.from_arrays({name: np.asarray(array).copy() for name, array in arrays.items()})
    new = example_pool() * 1.1
    require(np.array_equal(fitted.score(new), again.score(new)), "A detector from its arrays has other scores.")
    require(np.array_equal(fitted.space(new), again.space(new)), "A detector from its arrays has another space.")


def check_rows_do_not_meet(detector: DetectorClass) -> None:
    """A row's score and its point are its own, whatever stands beside it."""
    fitted, x = detector.fit(example_pool(), _cases()["labels of both kinds"], 0, 0.1), example_pool()
    for name, compute in (("score", fitted.score), ("point", fitted.space)):
        gap = float(np.abs(compute(x[:7]) - compute(x)[:7]).max())
        require(gap < 1e-3, f"The {name} of a row depends on the rows beside it: {gap:.3g} apart.")


def check_space_is_one_point_a_row(detector: DetectorClass) -> None:
    """(n, p) and finite; equal rows are one point, other rows are others."""
    x = example_pool()
    x[1] = x[0]
    points = detector.fit(x, _labels(), 0).space(x)
    require(points.ndim == 2 and len(points) == ROWS, f"{ROWS} rows have points of shape {points.shape}.")
    require(np.isfinite(points).all(), "Points must be finite.")
    require(np.allclose(points[0], points[1], atol=1e-5), "Equal rows must be the same point.")
    n_points = len(np.unique(points.round(5), axis=0))
    require(n_points == ROWS - 1, f"{ROWS - 1} rows that differ became {n_points} points.")


def check_pool_is_not_changed(detector: DetectorClass) -> None:
    """Rows and labels belong to the caller."""
    x, labels = example_pool(), _cases()["labels of both kinds"]
    with leaving_alone("The detector", pool=x, labels=labels):
        fitted = detector.fit(x, labels, 0, 0.1)
        fitted.score(x)
        fitted.space(x)


def check_odd_pools_are_no_trouble(detector: DetectorClass) -> None:
    """Copies of one row, rows of zeros and very few rows have finite scores."""
    for case, x in (
        ("copies of one row", np.ones((9, WIDTH))),
        ("rows of zeros", np.zeros((9, WIDTH))),
        ("two rows", np.eye(2, WIDTH)),
    ):
        for known in (UNLABELLED, NORMAL, ANOMALY):
            labels = np.full(len(x), UNLABELLED, np.int8)
            labels[0] = known
            scores = detector.fit(x.astype(np.float32), labels, 0, 0.1).score(x.astype(np.float32))
            require(np.isfinite(scores).all(), f"Scores of {case} must be finite, got {scores}.")


def check_unknown_options_are_refused(detector: DetectorClass) -> None:
    """An option that it does not have is a ConfigError, not silently ignored."""
    with expecting("An option that the detector does not have", ConfigError):
        detector.fit(example_pool(), _labels(), 0, None, {"no_such_option": 1.0})


DETECTOR_LAWS: tuple[Law[DetectorClass], ...] = laws_of(__name__, but=check_detector)


def _labels(**rows: list[int]) -> Labels:
    labels = np.full(ROWS, UNLABELLED, np.int8)
    labels[rows.get("normal", [])] = NORMAL
    labels[rows.get("anomaly", [])] = ANOMALY
    return labels


def _cases() -> dict[str, Labels]:
    normal, anomaly = [20, 40, 60, 80], [0, 1, 2]
    return {
        "no label": _labels(),
        "labels of both kinds": _labels(normal=normal, anomaly=anomaly),
        "normal labels alone": _labels(normal=normal),
        "anomalies alone": _labels(anomaly=anomaly),
        "all rows labelled": np.where(np.arange(ROWS) < ANOMALIES, ANOMALY, NORMAL).astype(np.int8),
    }
