"""How a data set becomes a contaminated pool and a test set; the truth of the pool is for the expert alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from soel import DataError
from soel.types import Floats, Rows
from soel_paper.catalogue import ClassSets, Content, LabelledRows
from soel_paper.methods import Order

USUAL_SHARE = 0.1
VIDEO_NORMALS, VIDEO_ALL_NORMALS, VIDEO_SHARE = 6800, 9955, 0.3


@dataclass(frozen=True)
class Split:
    """A pool (N, d) with its hidden truth (N,), and the test rows with theirs.

    pictures: those that the pool's rows were made from by the extractor named, where they were.
    grows: whether the test is all that is left over, rather than a published set.
    """

    pool: Floats
    pool_truth: np.ndarray
    test: Floats
    test_truth: np.ndarray
    pictures: NDArray[np.uint8] | None = None
    extractor: str = ""
    grows: bool = True

    @property
    def share(self) -> float:
        return float(self.pool_truth.mean())

    def clean(self) -> Split:
        """A pool of its normals alone; its anomalies go to the test, unless that is a published set."""
        normal, more = ~self.pool_truth, self.pool_truth & self.grows
        return replace(
            self,
            pool=self.pool[normal],
            pool_truth=self.pool_truth[normal],
            test=np.concatenate([self.test, self.pool[more]]),
            test_truth=np.concatenate([self.test_truth, self.pool_truth[more]]),
            pictures=None,
        )


def contaminate(rows: LabelledRows, seed: int, share: float = USUAL_SHARE, order: Order = "random") -> Split:
    """Half of the normals (floor(n/2) + 1) and as many anomalies as make the share; all else is for the test.

    order: the anomalies of the pool are drawn, or the first of the file (the authors' code).
    A share above what the anomalies allow is reached with fewer normals.
    """
    rng = np.random.default_rng(seed)
    normals, anomalies = _shuffle(rows, rng, order)
    n_normals = len(normals) // 2 + 1
    n_anomalies = int(share / (1 - share) * n_normals + 1e-9)
    if n_anomalies > len(anomalies) - 1:
        n_anomalies = len(anomalies) - 1
        n_normals = round(n_anomalies * (1 - share) / share)
    return _take(rows, normals, anomalies, n_normals, n_anomalies)


def natural(rows: LabelledRows, seed: int) -> Split:
    """Half of each kind."""
    normals, anomalies = _shuffle(rows, np.random.default_rng(seed), "random")
    return _take(rows, normals, anomalies, len(normals) // 2 + 1, max(1, len(anomalies) // 2))


def frames(rows: LabelledRows, seed: int) -> Split:
    """UCSD Peds1: 6,800 normal and 2,914 abnormal frames as independent items, all others for the test."""
    normals, anomalies = _shuffle(rows, np.random.default_rng(seed), "random")
    n_normals = len(normals) * VIDEO_NORMALS // VIDEO_ALL_NORMALS  # 6,800 of all; a smaller copy keeps the proportion
    return _take(rows, normals, anomalies, n_normals, int(VIDEO_SHARE / (1 - VIDEO_SHARE) * n_normals))


def one_vs_rest(sets: ClassSets, normal: int, seed: int, share: float = USUAL_SHARE) -> Split:
    """One class is normal, images of the others are mixed in; the whole original test set is the test."""
    rng = np.random.default_rng(seed)
    own, others = np.flatnonzero(sets.y_train == normal), np.flatnonzero(sets.y_train != normal)
    if not len(own):
        raise DataError(f"There is no class {normal} among {', '.join(map(str, sets.classes))}.")
    mixed = rng.permutation(others)[: int(share / (1 - share) * len(own))]
    pool = rng.permutation(np.concatenate([own, mixed]))
    truth, test_truth = sets.y_train[pool] != normal, sets.y_test != normal
    pictures = None if sets.pictures is None else sets.pictures[pool]
    return Split(_floats(sets.x_train[pool]), truth, _floats(sets.x_test), test_truth, pictures, sets.extractor, False)


def make_split(
    protocol: str,
    content: Content,
    seed: int,
    share: float | None = None,
    order: Order = "random",
    normal: int | None = None,
) -> Split:
    """A split by the protocol's name; a share that is given overrides the protocol's own."""
    if isinstance(content, ClassSets):
        return one_vs_rest(content, content.classes[0] if normal is None else normal, seed, share or USUAL_SHARE)
    if share is not None or protocol == "contaminated":
        return contaminate(content, seed, share or USUAL_SHARE, order)
    return frames(content, seed) if protocol == "frames" else natural(content, seed)


def _shuffle(rows: LabelledRows, rng: np.random.Generator, order: Order) -> tuple[Rows, Rows]:
    normals, anomalies = np.flatnonzero(~rows.is_anomaly), np.flatnonzero(rows.is_anomaly)
    if len(normals) < 2 or len(anomalies) < 2:
        raise DataError(
            f"An experiment needs both kinds of rows, got {len(normals)} normals, {len(anomalies)} anomalies."
        )
    normals = rng.permutation(normals)
    return normals, anomalies if order == "first" else rng.permutation(anomalies)


def _take(rows: LabelledRows, normals: Rows, anomalies: Rows, n_normals: int, n_anomalies: int) -> Split:
    pool = np.concatenate([normals[:n_normals], anomalies[:n_anomalies]])
    test = np.concatenate([normals[n_normals:], anomalies[n_anomalies:]])
    x, truth = rows.x, rows.is_anomaly
    return Split(_floats(x[pool]), truth[pool], _floats(x[test]), truth[test])


def _floats(x: np.ndarray) -> Floats:
    """Rows (n, d) in memory, not mapped from a file; pictures are laid out flat."""
    return np.array(x, np.float32, order="C").reshape(len(x), -1)
