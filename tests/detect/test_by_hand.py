"""Both detectors and the linear part against slow versions: one row, one formula at a time."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect.angular import (
    ANOMALY_WEIGHT,
    LABEL_WEIGHT,
    RIDGE,
    ROUNDS,
    SHAPE_WEIGHT,
    SMALLEST,
    SMALLEST_TO_ANOMALY,
    SOFTNESS,
    TEMPERATURE,
    Angular,
    SelfTrainedRidge,
)
from soel.detect.neighbours import ANOMALY_NEIGHBOURS, TINY, Neighbours
from soel.types import Floats

N, D = 40, 3
BOTH = np.full(N, -1, np.int8)
BOTH[[0, 1]], BOTH[[20, 30, 35]] = 1, 0
NONE = np.full(N, -1, np.int8)
NORMALS = np.where(BOTH == 0, 0, -1).astype(np.int8)
ANOMALIES = np.where(BOTH == 1, 1, -1).astype(np.int8)


def table() -> Floats:
    x = np.random.default_rng(0).normal(scale=0.7, size=(N, D))
    x[:4] += 1.5
    return x.clip(-2.9, 2.9)


def gap(a: Floats, b: Floats) -> float:
    return float(np.sqrt(((a - b) ** 2).sum()))


def mean_of_smallest(values: list[float], k: int) -> float:
    return float(np.mean(sorted(values)[:k]))


def mahalanobis_from(rows: Floats) -> tuple[Floats, Floats]:
    """The mean of some rows, and the inverse of their covariance with a tenth of its mean variance added."""
    covariance = np.cov(rows.T)
    ridge = 0.1 * np.trace(covariance) / len(covariance) + 1e-6
    return rows.mean(axis=0), np.linalg.inv(covariance + ridge * np.eye(len(covariance)))


def suspected(x: Floats, labels: np.ndarray) -> set[int]:
    """Labelled anomalies, and the 5 % of the pool around them that are nearer to them than to a normal row."""
    anomalies, normals = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    found = set(anomalies.tolist())
    for anomaly in anomalies:
        n_each = max(1, int(0.05 * N / len(anomalies)))
        for row in sorted(range(N), key=lambda row: gap(x[row], x[anomaly]))[:n_each]:
            to_anomaly = min(gap(x[row], x[other]) for other in anomalies)
            to_normal = min([gap(x[row], x[other]) for other in normals], default=np.inf)
            if to_anomaly < to_normal and labels[row] != 0:
                found.add(row)
    return found


def slow_neighbours(x: Floats, labels: np.ndarray, new: Floats) -> Floats:
    suspects, normals = suspected(x, labels), np.flatnonzero(labels == 0)
    isolation = [mean_of_smallest([gap(x[i], x[j]) for j in range(N) if j != i], 5) for i in range(N)]
    for row in normals:
        isolation[row] = -1
    dropped = set(np.argsort(-np.array(isolation), kind="stable")[: N // 10].tolist())
    kept = [row for row in range(N) if row not in suspects | dropped]
    centre, precision = mahalanobis_from(x[kept])

    def distance(row: Floats, own: int = -1) -> float:
        near = mean_of_smallest([gap(row, x[other]) for other in kept if other != own], 5)
        far = np.sqrt((row - centre) @ precision @ (row - centre))
        return float((np.log(near + TINY) + np.log(far + TINY)) / 2)

    within = np.array([distance(x[row], row) for row in range(N)])
    known = np.flatnonzero(labels >= 0)
    reach = np.median([min(gap(row, x[other]) for other in known) for row in x]) + TINY if len(normals) else 1.0

    def raw(row: Floats, own: int = -1) -> float:
        score = distance(row, own)
        if suspects:
            score -= np.log(mean_of_smallest([gap(row, x[other]) for other in suspects], ANOMALY_NEIGHBOURS) + TINY)
        lowered = [max(within[n] - np.median(within), 0) * np.exp(-gap(row, x[n]) / reach) for n in normals]
        return float((score - max(lowered, default=0.0)) / within.std())

    middle = np.mean([raw(row, own) for own, row in enumerate(x)])
    return np.array([raw(row) - middle for row in new])


@pytest.mark.parametrize("labels", [NONE, BOTH, NORMALS, ANOMALIES], ids=["none", "both", "normals", "anomalies"])
def test_neighbours(labels: np.ndarray) -> None:
    x = table().astype(np.float32)
    new = np.random.default_rng(5).normal(size=(8, D)).clip(-2.9, 2.9).astype(np.float32)
    found = Neighbours.fit(x, labels, 0).score(new)
    expected = slow_neighbours(x.astype(np.float64), labels, new.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def slow_angular(x: Floats, labels: np.ndarray, new: Floats) -> Floats:
    """Without an estimated share there is no linear part; as many axes as columns leave all distances as they are."""

    def units(rows: Floats) -> Floats:
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    pool, anomalies = units(x), np.flatnonzero(labels == 1)
    reference = np.flatnonzero(labels != 1)

    def near(row: Floats, own: int = -1) -> float:
        score = np.log(mean_of_smallest([gap(row, pool[r]) for r in reference if r != own], 5) + SMALLEST)
        if len(anomalies):
            nearest = min(gap(row, pool[other]) for other in anomalies)
            score -= ANOMALY_WEIGHT * np.log(nearest + SMALLEST_TO_ANOMALY)
        return float(score)

    by_distance = np.array([near(row, own) for own, row in enumerate(pool)])
    unit = by_distance.std()
    core, precision = mahalanobis_from(pool[reference])

    def shape(row: Floats) -> float:
        return float(np.log(np.sqrt((row - core) @ precision @ (row - core)) + SMALLEST))

    by_shape = np.array([shape(row) for row in pool])
    whole = by_distance / unit + SHAPE_WEIGHT * by_shape / by_shape.std()
    spread = whole[labels == -1].std()
    raw = np.array([near(row) / unit + SHAPE_WEIGHT * shape(row) / by_shape.std() for row in units(new)])
    return np.asarray((raw - whole.mean()) / spread)


@pytest.mark.parametrize("labels", [NONE, BOTH, NORMALS, ANOMALIES], ids=["none", "both", "normals", "anomalies"])
def test_angular(labels: np.ndarray) -> None:
    x = (table() + 2).astype(np.float32)
    new = (np.random.default_rng(5).normal(size=(8, D)) + 2).astype(np.float32)
    found = Angular.fit(x, labels, 0).score(new)
    expected = slow_angular(x.astype(np.float64), labels, new.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=5e-3)


def slow_linear(x: Floats, labels: np.ndarray, share: float) -> Floats:
    """Ridge regression on suspicions, three times: first by the labels' directions, then by its own ranking."""
    known = np.flatnonzero(labels >= 0)
    weights = np.where(labels >= 0, LABEL_WEIGHT, 1.0)
    mean = (weights[:, None] * x).sum(axis=0) / weights.sum()
    arms = x - mean
    covariance = sum(w * np.outer(arm, arm) for w, arm in zip(weights, arms, strict=True)) / weights.sum()
    ridge = (RIDGE + D / N) * np.trace(covariance) / D + 1e-12
    directions = x / np.linalg.norm(x, axis=1, keepdims=True)
    chances = np.empty(N)
    for row in range(N):
        voices = np.exp(directions[known] @ directions[row] / TEMPERATURE)
        chances[row] = (voices * labels[known]).sum() / voices.sum()
    n_suspects = round(share * N)
    for _ in range(ROUNDS):
        chances[known] = labels[known]
        middle = (weights * chances).sum() / weights.sum()
        moment = (weights * (chances - middle)) @ arms / weights.sum()
        direction = np.linalg.solve(covariance + ridge * np.eye(D), moment)
        scores = arms @ direction
        border = np.sort(scores)[-n_suspects]
        chances = 1 / (1 + np.exp(-(scores - border) / (SOFTNESS * scores.std())))
    return np.asarray(direction)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_linear_part(share: float) -> None:
    x = table()
    np.testing.assert_allclose(
        SelfTrainedRidge.fit(x, BOTH, share).direction, slow_linear(x, BOTH, share), rtol=1e-4, atol=1e-6
    )


def test_the_held_out_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    # As many folds as labels: each is withheld alone. Rows on a line, so that the right order is plain.
    x = np.linspace(-1, 1, N)[:, None] * np.ones(D)
    right = np.full(N, -1, np.int8)
    right[[2, 8, 14]], right[[35, 38]] = 0, 1
    assert SelfTrainedRidge.fit(x, right, 0.1).heldout_auroc == 1
    mixed = right.copy()
    mixed[[2, 38]] = mixed[[38, 2]]
    assert SelfTrainedRidge.fit(x, mixed, 0.1).heldout_auroc < 0.5
