"""What is said of rows before any label: every number beside a slow version, or worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from soel.detect.incontext.row_features import (
    CLIP,
    FAR,
    LARGEST_SCORE,
    N_SCORES,
    TINY,
    Origin,
    PoolStats,
    RowFeatures,
    _cells,
    _columns,
    _gaussian_rank,
    _places,
)
from soel.types import Floats

N, D = 40, 3


def column(*values: float) -> Tensor:
    """A pool of one column: (1, N, 1)."""
    return torch.tensor(values)[None, :, None]


def pool(seed: int = 0, n_rows: int = N) -> Tensor:
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(1, n_rows, D)).astype(np.float32))
    x[0, :3] += 2.5
    return x


def fit(x: Tensor, seed: int = 0) -> tuple[PoolStats, RowFeatures]:
    return PoolStats.fit(x, torch.Generator().manual_seed(seed))


ORDERED = torch.tensor([[[0.0, 1.0, 1.0, 3.0]]])  # one column of a pool of four


def test_cells_by_hand() -> None:
    raw = column(0, 1, 1, 3)
    low, high = _places(ORDERED, raw, own=True)
    g = _gaussian_rank(low, high, 3)
    surprise = column(0.5, -9, 9, -0.25)
    cells = _cells(ORDERED, raw, g, low, high, 3, surprise)[0, :, 0]  # (4, N_CELL)
    np.testing.assert_array_equal(cells[:, 0], [0, 1, 1, 3])
    np.testing.assert_array_equal(cells[:, 1], g[0, :, 0])
    np.testing.assert_allclose(cells[:, 2], [-0.75, 0, 0, 0.75], atol=1e-6)
    np.testing.assert_allclose(cells[:, 3], [0.75, 0, 0, 0.75], atol=1e-6)
    # two rows further on either side, within the pool: from 0 to 1, from 0 to 3, from 0 to 3, from 1 to 3
    np.testing.assert_allclose(cells[:, 4], np.log(np.array([1, 3, 3, 2]) + TINY), atol=1e-6)
    np.testing.assert_allclose(cells[:, 5], np.log([1 / 4, 1 / 2, 1 / 2, 1 / 4]) / 3, atol=1e-6)
    np.testing.assert_allclose(cells[:, 6], np.log([8, 2, 2, 8]), atol=1e-6)
    np.testing.assert_array_equal(cells[:, 7], [0, 1, 1, 3])
    np.testing.assert_array_equal(cells[:, 8], [0.5, -2 * CLIP, 2 * CLIP, -0.25])
    np.testing.assert_array_equal(cells[:, 9], [0.5, 2 * CLIP, 2 * CLIP, 0.25])


def test_columns_by_hand() -> None:
    z = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 3.0]])[None]
    g = z
    precision = torch.diag(torch.tensor([2.0, 0.1]))[None]
    ordered = z.transpose(1, 2).contiguous().sort(-1).values
    said = _columns(ordered, z, g, precision)[0]  # (2, N_COLUMN)
    np.testing.assert_allclose(said[:, 0], [math.log(2) / math.log(4), math.log(3) / math.log(4)], atol=1e-6)
    assert said[:, 1].tolist() == [1, 0]  # two values, and three
    assert said[:, 2].tolist() == [1, 1]
    assert said[:, 3].tolist() == [0.5, 0.5]  # the commonest value
    np.testing.assert_allclose(said[:, 4], [0, math.log(1 + 26 / 4)], atol=1e-6)  # third moments 0 and 26 / 4
    np.testing.assert_allclose(said[:, 5], [math.log(2), math.log(1 + 84 / 4)], atol=1e-6)
    np.testing.assert_allclose(said[:, 6], [0.5, 0.5], atol=1e-6)  # (1 - 1 - 1 + 3) / 4
    np.testing.assert_allclose(said[:, 7], [1 / (2 + TINY), 2], atol=1e-6)  # at most 2


def test_values_are_standardised_and_clipped_and_a_constant_column_stays() -> None:
    x = torch.zeros(1, 50, 2)
    x[0, :, 1] = 3.0
    x[0, 0, 0] = 100.0
    reference, own = fit(x)
    assert reference.deviation[0, 0].tolist() == [pytest.approx(100 * math.sqrt(1 / 50), rel=1e-5), 1.0]
    assert reference.mean[0, 0].tolist() == [2.0, 3.0]
    assert own.z[0, 0].tolist() == [CLIP, 0.0]
    assert (own.z[..., 1] == 0).all()
    assert torch.isfinite(own.scores).all()


def slow_scores(reference: PoolStats, rows: RowFeatures, at: int) -> list[float]:
    """The 16 scores of a row that is not in the pool, one after the other."""
    z, g, cells = (part[0, at].double().numpy() for part in (rows.z, rows.g, rows.cells))
    pool_z, pool_g = reference.z[0].double().numpy(), reference.g[0].double().numpy()

    def gaps(own: Floats, others: Floats) -> Floats:
        return np.asarray(np.sqrt(((others - own) ** 2).sum(axis=1) / D))

    away = gaps(z, pool_z)
    order = np.argsort(away)[:10]  # ten are more than 3 % of forty
    near = away[order]
    within = [np.sort(np.delete(gaps(row, pool_z), at)) for at, row in enumerate(pool_z)]
    kth = np.array([each[9] for each in within])
    isolated = np.argsort([-each[:10].mean() for each in within])[: N // 10]
    kept = np.delete(away, isolated)
    precisions = [p[0].double().numpy() for p in reference.precisions]
    surprise = np.abs(z @ precisions[0] / np.sqrt(np.diag(precisions[0])))
    depth = float(reference.forest.isolation(rows.nodes)[0, at])
    log = math.log
    return [
        log(near[:5].mean() + TINY),
        log(near.mean() + TINY),
        log((near[9] + TINY) / (kth[order].mean() + TINY)),
        log(np.sort(kept)[:5].mean() + TINY),
        log(np.sort(gaps(g, pool_g))[:5].mean() + TINY),
        *[log(z @ p @ z + TINY) / 2 for p in precisions],
        log(z @ z + TINY),
        log(g @ g + TINY),
        cells[:, 6].mean(),
        cells[:, 6].mean(),  # of the three highest: all there are
        surprise.mean(),
        surprise.max(),
        cells[:, 4].mean(),
        -cells[:, 5].mean(),
        -depth,
    ]


def test_scores_of_other_rows_by_slow_formulas() -> None:
    reference, _ = fit(pool())
    rows = reference.describe(pool(7, 6))
    wanted = np.array([slow_scores(reference, rows, at) for at in range(6)])
    wanted = (wanted - reference.middle[0].numpy()) / reference.spread[0].numpy()
    assert wanted.shape == (6, N_SCORES)
    np.testing.assert_allclose(rows.scores[0], wanted.clip(-LARGEST_SCORE, LARGEST_SCORE), atol=2e-3)


def test_who_is_dropped_and_the_typical_distance() -> None:
    reference, own = fit(pool())
    z = own.z[0].double().numpy()
    apart = np.sqrt(((z[:, None] - z) ** 2).sum(-1) / D)
    near = np.array([np.sort(np.delete(row, at))[:10] for at, row in enumerate(apart)])
    isolated = np.argsort(-near.mean(axis=1))[:4]
    assert sorted(np.flatnonzero(reference.dropped[0].numpy())) == sorted(isolated)
    np.testing.assert_allclose(reference.kth[0], near[:, 9], atol=1e-3)
    middle = np.sort(near.mean(axis=1))[N // 2 - 1]  # the lower of the two in the middle, as torch takes it
    assert float(reference.scale[0]) == pytest.approx(middle / (np.sqrt((apart**2).mean()) + TINY), rel=1e-3)


def test_pools_side_by_side_say_what_each_says_alone() -> None:
    first, second = pool(1), pool(2)
    rows = pool(3, 5)
    together, _ = fit(torch.cat([first, second]))
    described = together.describe(torch.cat([rows, rows]))
    alone, _ = fit(second)
    free_of_chance = slice(0, N_SCORES - 1)  # the last one is by the forest, which draws for both
    for part in ("z", "g", "cells"):
        torch.testing.assert_close(getattr(described, part)[1:], getattr(alone.describe(rows), part))
    torch.testing.assert_close(
        described.scores[1:, :, free_of_chance], alone.describe(rows).scores[..., free_of_chance], atol=1e-4, rtol=1e-4
    )


def test_a_row_of_the_pool_keeps_its_place_but_not_itself() -> None:
    x = pool()
    reference, own = fit(x)
    again = reference.describe(x)
    torch.testing.assert_close(again.z, own.z)
    torch.testing.assert_close(again.distances[0], own.distances[0], atol=1e-3, rtol=0)  # by value; ranks move a little
    assert (again.scores[..., 0] < own.scores[..., 0]).all()  # it is now its own neighbour


def line_of_ten() -> PoolStats:
    reference, _ = fit(column(*map(float, range(10))))
    return reference


def origin_of(*values: float, known: bool = True) -> Origin:
    """What one row was put together from, and where in the line of ten that stands."""
    same = torch.zeros(1, len(values), 10, dtype=torch.bool)
    for at, value in enumerate(values):
        same[0, at, int(value)] = known
    return Origin(torch.tensor(values)[None, None, :, None], same)


@pytest.mark.parametrize(
    ("sources", "n_below", "n_not_above"),
    [((3.0,), 4, 5), ((5.0,), 5, 5), ((8.0,), 5, 6), ((3.0, 8.0), 4, 5), ((5.0, 3.0), 4, 4)],
)
def test_a_row_has_its_rank_among_those_it_was_not_made_of(
    sources: tuple[float, ...], n_below: int, n_not_above: int
) -> None:
    """At 5 five lie below and six not above; a source counts in neither, wherever it lay."""
    cells = line_of_ten().describe(column(5), origin_of(*sources)).cells[0, 0, 0]
    rank = (0.5 * (n_below + n_not_above) + 0.5) / 11
    assert float(cells[2]) == pytest.approx(2 * rank - 1, abs=1e-5)
    assert float(cells[5]) == pytest.approx(math.log((n_not_above - n_below + 1) / 11) / 3, abs=1e-5)


def test_what_a_row_was_made_of_is_no_neighbour() -> None:
    reference = line_of_ten()
    alone, whole = reference.describe(column(5), origin_of(5)), reference.describe(column(5))
    assert (alone.distances[:, 0, 0, 5] == FAR).all()
    assert whole.distances[0, 0, 0, 5] == 0
    others = [row for row in range(10) if row != 5]
    torch.testing.assert_close(alone.distances[0, 0, 0, others], whole.distances[0, 0, 0, others])
    elsewhere = reference.describe(column(5), origin_of(5, known=False))
    torch.testing.assert_close(elsewhere.scores, whole.scores)
    assert alone.scores[0, 0, 0] > whole.scores[0, 0, 0], "its nearest neighbours are now farther off"
