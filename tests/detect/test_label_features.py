"""What labels say by simple rules: each rule worked by hand or beside a slow version."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from soel.detect.incontext.label_features import (
    DEPTHS,
    N_BINS,
    N_POOL_FEATURES,
    PRIOR,
    LabelTables,
    _along,
    _kernel,
    _odds_of_nodes,
    _ratios_of_bins,
    _to_nearest,
    label_features,
    pool_features,
)
from soel.detect.incontext.row_features import DEPTH, TINY, PoolStats, RowFeatures

N, D = 30, 4


@pytest.fixture(scope="module")
def table() -> tuple[PoolStats, RowFeatures, RowFeatures]:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(1, N, D)).astype(np.float32))
    reference, own = PoolStats.fit(x, torch.Generator().manual_seed(0))
    new = torch.from_numpy(rng.normal(size=(1, 6, D)).astype(np.float32))
    return reference, own, reference.describe(new)


def answers(anomalies: list[int], normals: list[int], n_rows: int = N) -> Tensor:
    labels = torch.full((1, n_rows), -1)
    labels[0, anomalies], labels[0, normals] = 1, 0
    return labels


def say(reference: PoolStats, pool: RowFeatures, rows: RowFeatures, labels: Tensor) -> Tensor:
    found: Tensor = label_features(reference, pool, rows, labels, LabelTables.count(pool, labels))
    return found


def share_nodes(pool: Tensor, rows: Tensor, is_anomaly: Tensor, is_normal: Tensor) -> list[Tensor]:
    return LabelTables(_odds_of_nodes(pool, is_anomaly, is_normal), torch.zeros(0)).of_nodes(rows)


def share_bins(pool: RowFeatures, rows: RowFeatures, is_anomaly: Tensor, is_normal: Tensor) -> list[Tensor]:
    return LabelTables((), _ratios_of_bins(pool, is_anomaly, is_normal)).of_bins(rows)


def line(*places: float) -> Tensor:
    """Distances (1, n, n) between points on a line."""
    at = torch.tensor(places)
    return (at[:, None] - at).abs()[None]


def test_the_log_distance_to_the_nearest_labelled_row_is_standardised_over_the_free_ones() -> None:
    pool = line(0, 1, 3, 7)
    told = torch.tensor([[True, False, False, False]])
    logs = np.log(np.array([1, 3, 7]) + TINY)
    middle, spread = logs.mean(), logs.std()
    rows = torch.tensor([[[2.0, 1.0, 1.0, 5.0]]])  # one row, two from the labelled one
    wanted = (math.log(2 + TINY) - middle) / (spread + 1e-3)
    np.testing.assert_allclose(_to_nearest(pool, rows, told)[0], [wanted], rtol=1e-5)


def test_without_such_a_label_there_is_nothing_to_say() -> None:
    nobody = torch.zeros(1, 4, dtype=torch.bool)
    assert _to_nearest(line(0, 1, 3, 7), line(0, 1, 3, 7), nobody).tolist() == [[0, 0, 0, 0]]


def nodes(*at: int) -> Tensor:
    """One tree; each row at one node, at every depth: (1, 1, n, DEPTH + 1)."""
    return torch.tensor(at)[None, None, :, None].expand(-1, -1, -1, DEPTH + 1)


def test_rows_that_share_a_node_with_labels_get_their_odds() -> None:
    is_anomaly, is_normal = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.0, 0.0, 1.0]])
    said = share_nodes(nodes(7, 7, 8), nodes(7, 8, 9), is_anomaly, is_normal)
    assert len(said) == len(DEPTHS)
    for each in said:
        np.testing.assert_allclose(each[0], [math.log(11), math.log(0.9 / 1.9), 0], atol=1e-5)


def test_odds_are_the_mean_over_trees_and_looked_up_at_their_depth() -> None:
    pool = torch.cat([nodes(7, 8), nodes(9, 9)], 1).clone()
    pool[:, :, 1, DEPTHS[0]] = 3  # at the first depth the second row is elsewhere
    rows = pool[:, :, :1]
    first, second, _ = share_nodes(pool, rows, torch.tensor([[0.0, 1.0]]), torch.zeros(1, 2))
    assert first.tolist() == [[0]]
    np.testing.assert_allclose(second, [[0.5 * math.log(11)]], atol=1e-5)  # together in one tree of two


def slow_bins(own: np.ndarray, row: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Naive Bayes for one row. own: (N, d) bins of the pool. row: (d,) its bins."""
    said = []
    for column in range(own.shape[1]):
        counts = {}
        for name, rows in (("a", labels == 1), ("n", labels == 0), ("all", np.ones(len(labels), bool))):
            plain = np.bincount(own[rows, column], minlength=N_BINS).astype(float)
            counts[name] = plain + 0.5 * np.r_[0, plain[:-1]] + 0.5 * np.r_[plain[1:], 0]
        share = counts["all"] / counts["all"].sum() + 1e-3
        anomalies = (counts["a"] + 4 * share) / (counts["a"].sum() + 4)
        normals = (counts["n"] + 8 * share) / (counts["n"].sum() + 8)
        said.append(math.log(anomalies[row[column]] / normals[row[column]]))
    return 2 * float(np.mean(said)), max(said) + min(said)


def test_bins_of_columns_speak_as_naive_bayes(table: tuple[PoolStats, RowFeatures, RowFeatures]) -> None:
    _, pool, rows = table
    labels = answers([0, 1, 2], [3, 4, 5, 6])
    own, theirs = ((((d.cells[0, ..., 2] + 1) / 2 * N_BINS).long().clamp(0, N_BINS - 1)).numpy() for d in (pool, rows))
    wanted = np.array([slow_bins(own, row, labels[0].numpy()) for row in theirs]).T
    found = torch.stack(share_bins(pool, rows, (labels == 1).float(), (labels == 0).float()))[:, 0]
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_places_along_the_direction_of_the_anomalies() -> None:
    own = torch.tensor([[[0.0], [1.0], [2.0], [3.0]]])
    is_anomaly, is_normal = torch.tensor([[0.0, 0, 0, 1]]), torch.tensor([[0.0, 1, 0, 0]])
    direction = 3 - 1 / 6  # normal rows count among five that are at 0
    places = direction * np.array([0, 1, 2, 3])
    rows = torch.tensor([[[1.5], [4.0]]])
    wanted = (direction * np.array([1.5, 4]) - places.mean()) / (places.std(ddof=1) + 1e-3)
    np.testing.assert_allclose(_along(own, rows, is_anomaly, is_normal, None)[0], wanted, atol=1e-4)
    by_half = _along(own, rows, is_anomaly, is_normal, torch.full((1, 1, 1), 0.5))[0]
    np.testing.assert_allclose(by_half, wanted, atol=1e-3)  # in units of the spread the length plays no part
    assert _along(own, rows, torch.zeros(1, 4), is_normal, None).tolist() == [[0, 0]]


def test_near_labels_count_more_than_far_ones() -> None:
    pool = line(0, 1, 2, 4)
    is_anomaly, is_normal = torch.tensor([[1.0, 0, 0, 0]]), torch.tensor([[0.0, 0, 0, 1]])
    apart = pool + 0.5
    reach = 0.5  # to the nearest label: 0.5, 1.5, 2.5, 0.5, of which torch takes the lower one in the middle
    rows = torch.tensor([[[1.0, 9.0, 9.0, 2.0]]])
    weights = np.exp(-0.5 * (np.array([1.0, 2.0]) / reach) ** 2)
    wanted = math.log((weights[0] + 0.1 * PRIOR) / (weights[1] + 0.1)) - math.log(PRIOR)
    np.testing.assert_allclose(_kernel(apart, rows, is_anomaly, is_normal)[0], [wanted], rtol=1e-5)
    # where labelled rows lie at one another, the reach is next to nothing, and only the row's own label is heard
    assert _kernel(pool, pool, is_anomaly, is_normal)[0, 0] == pytest.approx(math.log(1.01 / 0.1) - math.log(0.1))


def test_about_the_whole_by_hand(table: tuple[PoolStats, RowFeatures, RowFeatures]) -> None:
    reference, _, _ = table
    said = pool_features(reference, answers([0, 1, 2], [3]))[0]
    wanted = [
        math.log(D) / 3,
        math.log(N) / 3 - 1,
        math.log(4) / 2,
        math.log(2) / 2,
        0.75,
        1,
        1,
        math.log(float(reference.scale[0]) + TINY),
    ]
    np.testing.assert_allclose(said, wanted, rtol=1e-5)
    nothing = pool_features(reference, answers([], []))[0]
    assert nothing[2:7].tolist() == [0, 0, 0, 0, 0]
    assert nothing.shape == (N_POOL_FEATURES,)


def test_a_row_at_an_anomaly_is_suspected_by_every_rule(table: tuple[PoolStats, RowFeatures, RowFeatures]) -> None:
    reference, pool, _ = table
    farthest = int(pool.z[0].square().sum(-1).argmax())
    nearest = int(pool.z[0].square().sum(-1).argmin())
    said = say(reference, pool, pool, answers([farthest], [nearest]))[0]
    above = said[farthest] > said[nearest]
    assert not above[0]  # it lies at an anomaly, so the distance to one is small
    assert above[1]
    assert above[4:].all()
