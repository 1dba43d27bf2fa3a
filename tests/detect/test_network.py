"""The network of the pretrained detector, untrained: orders, neighbours and onlookers; then the detector around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pretraining.module import Module
from torch import Tensor

from soel.detect.incontext.network import (
    N_SHARE_BINS,
    InContextNetwork,
    Outputs,
    Parameters,
    Shape,
    attend,
    attend_to_columns,
    column_scales,
    key_coordinates,
    keys_and_values,
)
from soel.detect.incontext.pretrained import Pretrained
from soel.detect.incontext.row_features import PoolStats, RowFeatures
from soel.detect.incontext.samples import column_order, keys
from soel.types import Floats

SMALL = Shape(width=16, n_heads=4, n_layers=2, cell_width=8, n_cell_layers=1, n_gates=2)
N, D = 25, 3


@pytest.fixture(scope="module")
def network() -> InContextNetwork:
    torch.manual_seed(0)
    module = Module(SMALL).requires_grad_(False)
    for weight in module.named.parameters():
        torch.nn.init.normal_(weight)
    return module.network


def rows(seed: int, n_rows: int = N, n_tasks: int = 1) -> Tensor:
    return torch.randn(n_tasks, n_rows, D, generator=torch.Generator().manual_seed(seed))


LABELS = torch.full((1, N), -1)
LABELS[0, :2], LABELS[0, 2:6] = 1, 0


NAMED = torch.zeros(1, N, D)
NAMED[0, 0, 1] = NAMED[0, 2, 0] = 1


def read(
    network: InContextNetwork, pool: Tensor, new: Tensor, labels: Tensor = LABELS, named: Tensor | None = None
) -> tuple[Outputs, Outputs]:
    """What is said of a pool, and of other rows beside it."""
    stats, own = PoolStats.fit(pool, torch.Generator().manual_seed(0))
    cache, outputs = network.encode_pool(stats, own, network.embed_cells(own, stats.columns), labels, named)
    described = stats.describe(new)
    embedded = network.embed_cells(described, stats.columns)
    return outputs, network.score_rows(stats, own, labels, cache, described, embedded)


def test_two_rows_of_the_pool_are_one_apart_on_average() -> None:
    z, g = rows(1), rows(2) * torch.tensor([0.1, 1.0, 5.0])
    weights = column_scales(torch.randn(1, 4, D, generator=torch.Generator().manual_seed(3)), z, g)
    for head in range(4):
        places = weights[0, head] * (z if head < 2 else g)[0]
        squares = (places[:, None] - places).square().sum(-1)
        assert float(squares.sum() / (N * (N - 1))) == pytest.approx(1, abs=1e-3)


def test_what_is_remembered_of_a_place_gives_the_squared_distance() -> None:
    own = torch.randn(1, 2, 5, D, generator=torch.Generator().manual_seed(0)) * 10
    labels = torch.tensor([[1, 0, -1, -1, 1]])
    seen = key_coordinates(own, labels)
    assert seen.shape == (1, 2, 5, D + 4)
    asking = torch.randn(1, 2, 3, D, generator=torch.Generator().manual_seed(1))
    query = torch.cat([asking, torch.ones(1, 2, 3, 2)], -1)
    less_own = query @ seen[..., : D + 2].transpose(2, 3)
    wanted = asking.square().sum(-1, keepdim=True) - torch.cdist(asking, own).square()
    torch.testing.assert_close(less_own, wanted, atol=1e-3, rtol=1e-4)
    assert seen[0, 0, :, -2].tolist() == [1, 1, 0, 0, 1]
    assert seen[0, 1, :, -1].tolist() == [1, 0, 0, 0, 1]


def test_other_rows_are_said_the_same_beside_the_pool_and_later(network: InContextNetwork) -> None:
    pool, new = rows(1), rows(2, 7)
    reference, own = PoolStats.fit(pool, torch.Generator().manual_seed(0))
    both = RowFeatures.joined([own, reference.describe(new)])
    _, together = network.encode_pool(reference, both, network.embed_cells(both, reference.columns), LABELS)
    alone, later = read(network, pool, new)
    torch.testing.assert_close(together.logits[:, :N], alone.logits, atol=1e-5, rtol=1e-4)  # onlookers change nothing
    torch.testing.assert_close(together.logits[:, N:], later.logits, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(together.chances[:, N:], later.chances, atol=1e-5, rtol=1e-4)
    assert later.shares is None
    assert alone.shares is not None
    assert alone.shares.shape == (1, N_SHARE_BINS)


def test_names_are_said_the_same_beside_the_pool_and_later_in_any_order_of_columns(network: InContextNetwork) -> None:
    pool, new = rows(1), rows(2, 4)
    stats, own = PoolStats.fit(pool, torch.Generator().manual_seed(0))
    both = RowFeatures.joined([own, stats.describe(new)])
    beside = network.encode_pool(stats, both, network.embed_cells(both, stats.columns), LABELS, NAMED)[1].logits
    outputs, later = read(network, pool, new, LABELS, NAMED)
    assert torch.allclose(beside, torch.cat([outputs.logits, later.logits], 1), atol=1e-4)
    stats, own = PoolStats.fit(pool.flip(-1), torch.Generator().manual_seed(0))
    flipped = replace(both, **{part: getattr(both, part).flip(-1) for part in ("z", "g")}, cells=both.cells.flip(2))
    assert torch.allclose(
        network.encode_pool(stats, flipped, network.embed_cells(flipped, stats.columns), LABELS, NAMED.flip(-1))[
            1
        ].logits,
        beside,
        atol=1e-3,
    )


def test_every_name_counts_and_none_is_as_before(network: InContextNetwork) -> None:
    pool, new = rows(1), rows(2, 4)
    said = [read(network, pool, new, LABELS, named)[1].logits for named in (None, 0 * NAMED, NAMED, NAMED.roll(1, -1))]
    assert torch.allclose(said[0], said[1], atol=1e-6)
    assert (said[2] - said[0]).abs().min() > 1e-4
    assert (said[3] - said[2]).abs().min() > 1e-4
    unknown = NAMED.clone()
    unknown[0, -1] = 1  # a row without a label
    assert torch.allclose(read(network, pool, new, LABELS, unknown)[1].logits, said[2], atol=1e-6)


def test_every_label_counts(network: InContextNetwork) -> None:
    pool, new = rows(1), rows(2, 7)
    _, before = read(network, pool, new)
    for at in (0, 3, 20):
        changed = LABELS.clone()
        changed[0, at] = 1 - changed[0, at].clamp_min(0)
        _, after = read(network, pool, new, changed)
        assert (after.logits - before.logits).abs().min() > 1e-6


def test_a_row_does_not_see_the_others_that_are_asked_about(network: InContextNetwork) -> None:
    pool, new = rows(1), rows(2, 7)
    _, together = read(network, pool, new)
    _, alone = read(network, pool, new[:, 4:5])
    torch.testing.assert_close(together.logits[:, 4:5], alone.logits, atol=1e-5, rtol=1e-4)


def test_columns_of_a_row_attend_to_one_another_in_any_order(network: InContextNetwork) -> None:
    part = Parameters(network.weights)["cells"]["blocks.0"]
    x = torch.randn(6, 4, 8, generator=torch.Generator().manual_seed(1))
    order = [2, 0, 3, 1]
    out = attend_to_columns(part, x)
    torch.testing.assert_close(attend_to_columns(part, x[:, order]), out[:, order], atol=1e-5, rtol=1e-4)
    x[:, 3, :4] += 1
    assert ((attend_to_columns(part, x) - out)[:, 0].abs() > 1e-6).any()  # another column was heard


def test_a_near_row_is_heard_more_than_a_far_one(network: InContextNetwork) -> None:
    torch.manual_seed(2)
    part = network.layers[0]
    pool, places = torch.randn(1, 2, 16), torch.zeros(1, 4, 2, D)
    places[:, :, 1] = 3.0
    labels = torch.tensor([[-1, -1]])
    x, own = torch.randn(1, 1, 16), torch.zeros(1, 4, 1, D)  # at the place of the first

    def said(pool: Tensor) -> Tensor:
        out: Tensor = attend(part, x, own, keys_and_values(part, pool, key_coordinates(places, labels)))
        return out

    before = said(pool)
    near, far = pool.clone(), pool.clone()
    near[0, 0] += torch.randn(16)
    far[0, 1] += torch.randn(16)
    assert (said(near) - before).abs().sum() > 3 * (said(far) - before).abs().sum()


# The detector around the network


def table(n_rows: int = 60, width: int = 4, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n_rows, width)).astype(np.float32)


def free(n_rows: int = 60) -> np.ndarray:
    return np.full(n_rows, -1, np.int8)


def test_keys_know_the_seed_and_every_value() -> None:
    x = table(1000, 3)
    assert len(set(keys(x).tolist())) == 1000
    assert keys(x, 1)[0] != keys(x, 2)[0]
    assert (keys(x) == keys(x.copy())).all()
    for column in range(3):
        other = x[:1].copy()
        other[0, column] = np.nextafter(other[0, column], np.float32(9))
        assert keys(other) != keys(x[:1])
    assert (keys(x, 5) == keys(x, 5 + 2**63)).all()


def test_copies_of_a_row_have_one_score() -> None:
    x = table()
    x[7] = x[3]
    fitted = Pretrained.fit(x, free(), 0)
    scores, view = fitted._with_labels.logits(fitted._ordered(x)), fitted._with_labels.views[0]
    assert fitted.score(x)[7] == fitted.score(x)[3]
    assert scores[7] == scores[3]
    of_context, (middle, spread) = view.outputs.rank_by(any_label=False)[0], view.unit
    at = [row for row in range(60) if (fitted.context.values[row] == x[3][column_order(x)]).all()]
    assert len(at) == 2
    assert scores[3] == pytest.approx((of_context[at].mean() - middle) / spread, abs=1e-5)


def test_one_row_is_read_twice_rather_than_not_at_all() -> None:
    fitted = Pretrained.fit(table(1), free(1), 0)
    assert len(fitted.context.values) == 2
    assert fitted.score(table(1)) == pytest.approx(0, abs=1e-5)


def test_what_needs_no_label_is_kept_for_the_next_answer() -> None:
    x, labels = table(), free()
    before = Pretrained.fit(x, labels, 0)
    before.query_score(x)
    labels[4:8] = [1, 0, 0, 0]
    after = Pretrained.fit(x, labels, 0)
    assert after._encoded is before._encoded
    other = Pretrained.fit(x, labels, 1)
    assert other._encoded is not before._encoded
