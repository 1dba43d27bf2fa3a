"""The laws of detectors without gradient steps and of extractors of features.

Of a detector the part is its class; of an extractor what makes one, a class or any callable without arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from soel.assess.metrics import auroc
from soel.detect.detector import Detector
from soel.errors import ConfigError
from soel.images.extractors import Extractor, Pictures
from soel.testing.laws import ABSOLUTE, RELATIVE, Kit, equal, expecting, require, require_apart, require_repeats
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels

MakeExtractor = Callable[[], Extractor]
DetectorClass = type[Detector]


# Detectors without gradient steps

WIDTH, ROWS, ANOMALIES = 8, 120, 8


def example_pool(n_rows: int = ROWS) -> Floats:
    """Rows around one point; the first ANOMALIES lie far from it, and in another direction from the origin."""
    x = 1 + 0.3 * np.random.default_rng(0).normal(size=(n_rows, WIDTH))
    x[:ANOMALIES, : WIDTH // 2] -= 2
    return x.astype(np.float32)


def _labels(normal: Sequence[int] = (), anomaly: Sequence[int] = ()) -> Labels:
    labels = np.full(ROWS, UNLABELLED, np.int8)
    labels[list(normal)], labels[list(anomaly)] = NORMAL, ANOMALY
    return labels


BOTH = _labels([20, 40, 60, 80], [0, 1, 2])
CASES: dict[str, Labels] = {
    "no label": _labels(),
    "labels of both kinds": BOTH,
    "normal labels alone": _labels(normal=[20, 40, 60, 80]),
    "anomalies alone": _labels(anomaly=[0, 1, 2]),
    "all rows labelled": _labels(range(ANOMALIES, ROWS), range(ANOMALIES)),
}


DETECTOR_LAWS: Kit[DetectorClass] = Kit()
check_detector = DETECTOR_LAWS.check


@DETECTOR_LAWS.law
def check_fits_repeat(detector: DetectorClass) -> None:
    """Equal rows, labels and seeds give equal scores and points; global seeds and the rows stay."""
    x, labels = example_pool(), BOTH.copy()

    def compute(detector: DetectorClass) -> tuple[Floats, Floats]:
        fitted = detector.fit(x, labels, 5, 0.1)
        return fitted.score(x), fitted.space(x)

    require_repeats(lambda: detector, compute, {"rows": x, "labels": labels})


@DETECTOR_LAWS.law
def check_scores_are_one_number_a_row(detector: DetectorClass) -> None:
    """(n,) and finite, whatever is labelled; over the pool of mean 0 and spread 1, so that they add up with others."""
    for case, labels in CASES.items():
        scores = detector.fit(example_pool(), labels, 0, 0.1).score(example_pool())
        require(scores.shape == (ROWS,), f"{ROWS} rows with {case} have scores of shape {scores.shape}.")
        require(np.isfinite(scores).all(), f"Scores must be finite; with {case} some are not.")
        rest = scores[labels == UNLABELLED]
        if len(rest) > ROWS / 2:
            require(abs(rest.mean()) < 0.75, f"With {case} the pool's mean score is {rest.mean():.2f}, not near 0.")
            require(1 / 3 < rest.std() < 3, f"With {case} the pool's scores spread by {rest.std():.2f}, not 1.")


@DETECTOR_LAWS.law
def check_anomalies_score_higher(detector: DetectorClass) -> None:
    """The sign is right: a small group that lies far away comes out on top, with and without labels."""
    x, is_anomaly = example_pool(), np.arange(ROWS) < ANOMALIES
    before = auroc(is_anomaly, detector.fit(x, _labels(), 0, None).score(x))
    after = auroc(is_anomaly, detector.fit(x, BOTH, 0, 0.1).score(x))
    require(before > 0.9, f"AUROC without a label is {before:.3f} on anomalies that lie far away.")
    require(after > 0.95, f"AUROC with labels is {after:.3f} on anomalies that lie far away.")


@DETECTOR_LAWS.law
def check_labels_are_heeded(detector: DetectorClass) -> None:
    """A row scores higher where it is labelled anomaly than where it is labelled normal."""
    x, row, above = example_pool(), ROWS - 1, []
    for kind in (NORMAL, ANOMALY):
        labels = BOTH.copy()
        labels[row] = kind
        scores = detector.fit(x, labels, 0, 0.1).score(x)
        above.append(float((scores < scores[row]).mean()))
    require(above[1] > above[0], f"A row is above a share {above[0]:.2f} of the pool if normal, {above[1]:.2f} if not.")


@DETECTOR_LAWS.law
def check_arrays_are_the_whole_detector(detector: DetectorClass) -> None:
    """A detector made from its arrays scores and compares as before; model files name it and its version."""
    name, version = getattr(detector, "name", ""), detector.version
    require(isinstance(name, str) and name, f"A detector must have a name, got {name!r}.")
    require(isinstance(version, int) and version > 0, f"A version is a whole number from 1, got {version!r}.")
    fitted, new = detector.fit(example_pool(), BOTH, 0, 0.1), example_pool() * 1.1
    arrays = {key: np.asarray(array).copy() for key, array in fitted.arrays().items()}
    strange = [key for key, array in arrays.items() if array.dtype.kind not in "fiub"]
    require(not strange, f"The arrays {', '.join(strange)} are not numbers.")
    again = detector.from_arrays(arrays)
    same = equal((fitted.score(new), fitted.space(new)), (again.score(new), again.space(new)))
    require(same, "A detector from its arrays has other scores, or another space.")


@DETECTOR_LAWS.law
def check_rows_do_not_meet(detector: DetectorClass) -> None:
    """A row's score and its point are its own, whatever stands beside it."""
    fitted = detector.fit(example_pool(), BOTH, 0, 0.1)
    require_apart("score", fitted.score, example_pool())
    require_apart("point", fitted.space, example_pool())


@DETECTOR_LAWS.law
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


@DETECTOR_LAWS.law
def check_odd_pools_are_no_trouble(detector: DetectorClass) -> None:
    """Copies of one row, rows of zeros and very few rows have finite scores. Unknown options are refused."""
    for x in (np.ones((9, WIDTH)), np.zeros((9, WIDTH)), np.eye(2, WIDTH)):
        for known in (UNLABELLED, NORMAL, ANOMALY):
            labels = np.array([known, *[UNLABELLED] * (len(x) - 1)], np.int8)
            scores = detector.fit(x.astype(np.float32), labels, 0, 0.1).score(x.astype(np.float32))
            require(np.isfinite(scores).all(), f"Scores of {x.tolist()} must be finite, got {scores}.")
    with expecting("An option that the detector does not have", ConfigError):
        detector.fit(example_pool(), _labels(), 0, None, {"no_such_option": 1.0})


# Extractors of features


def example_pictures(size: int, n_pictures: int = 4) -> Pictures:
    """Pictures of random colours around one of their own: (n, size, size, 3)."""
    rng = np.random.default_rng(0)
    base = rng.integers(40, 200, (n_pictures, 1, 1, 3))
    return np.clip(base + rng.normal(0, 20, (n_pictures, size, size, 3)), 0, 255).astype(np.uint8)


EXTRACTOR_LAWS: Kit[MakeExtractor] = Kit()
check_extractor = EXTRACTOR_LAWS.check


@EXTRACTOR_LAWS.law
def check_features_repeat(make: MakeExtractor) -> None:
    """Equal pictures have equal features, but for rounding; the pictures stay."""
    pictures = example_pictures(make().size)
    given = {"pictures": pictures}
    require_repeats(make, lambda extractor: extractor.features(pictures), given, (RELATIVE, ABSOLUTE))


@EXTRACTOR_LAWS.law
def check_features_tell_pictures_apart(make: MakeExtractor) -> None:
    """(B, d) finite numbers, other pictures with others; a picture's are its own, whatever stands beside it."""
    extractor = make()
    features = extractor.features(example_pictures(extractor.size))
    require(features.ndim == 2 and len(features) == 4, f"4 pictures have features of shape {features.shape}.")
    require(np.isfinite(features).all(), "Features must be finite.")
    require(len(np.unique(features.round(6), axis=0)) == 4, "Pictures that differ must have other features.")
    require_apart("features", extractor.features, example_pictures(extractor.size))


@EXTRACTOR_LAWS.law
def check_identity_is_stable(make: MakeExtractor) -> None:
    """Name, size and fingerprint are those of any other extractor made the same way: the cache goes by them."""
    first, second = make(), make()
    require(first.name and isinstance(first.name, str), f"An extractor must have a name, got {first.name!r}.")
    require(first.size > 0, f"The side of its pictures must be above 0, got {first.size}.")
    for what in ("name", "size", "fingerprint"):
        mine, theirs = getattr(first, what), getattr(second, what)
        require(mine == theirs, f"The {what} must be the same each time: {mine!r}, then {theirs!r}.")
