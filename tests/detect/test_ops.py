"""The two kinds of array that the network is written for: each function beside its twin, then all of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch

from pretraining import torch_ops
from soel.detect.incontext import ops
from soel.detect.incontext.network import InContextNetwork
from soel.detect.incontext.row_features import Origin, PoolStats
from soel.detect.incontext.weights import trained_network


def values(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def as_tensors(thing: Any) -> Any:
    """The same with all its arrays as tensors."""
    if isinstance(thing, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(thing))
    if isinstance(thing, tuple):
        return tuple(map(as_tensors, thing))
    return type(thing)(**{each.name: as_tensors(getattr(thing, each.name)) for each in fields(thing)})


def whole(high: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, shape)


SAME: dict[str, tuple[Any, ...]] = {
    "floats": (whole(5, 3, 4),),
    "whole": (values(3, 4, scale=3),),
    "std": (values(2, 5, 3), 1),
    "sort": (values(2, 3, 7),),
    "amax": (values(2, 3),),
    "amin": (values(2, 3),),
    "median": (values(3, 8),),
    "smallest": (values(2, 3, 200), 7),
    "search": (np.sort(whole(9, 2, 3, 20).astype(np.float32)), whole(9, 2, 3, 6).astype(np.float32), True),
    "normal_quantiles": (np.linspace(0.001, 0.999, 99).astype(np.float32),),
    "gather": (values(2, 3, 9), whole(9, 2, 3, 5)),
    "take_cells": (values(2, 6, 4), whole(6, 2, 3, 5), whole(4, 2, 3, 5, seed=1)),
    "tally": (whole(6, 2, 3, 20), np.abs(values(2, 3, 20)), 6),
    "extremes": (whole(6, 2, 3, 5), values(2, 3, 5), 6),
    "inverse": (np.eye(4, dtype=np.float32)[None] + 0.1,),
    "linear": (values(2, 3, 5), values(4, 5), values(4)),
    "normalise": (values(4, 9, scale=5),),
    "softmax": (values(3, 4, 5, scale=3), 1),
    "self_attend": (values(5, 2, 4, 3), values(5, 2, 4, 3, seed=1), values(5, 2, 4, 3, seed=2)),
    "gate": (values(2, 5, 4, 3), values(2, 4, 2, 3)),
    "halve_precision": (values(40, scale=100),),
    "sign": (values(9),),
}


@pytest.mark.parametrize("name", SAME)
def test_a_function_gives_the_same_for_both_kinds(name: str) -> None:
    given = SAME[name]
    as_tensors = [torch.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in given]
    found, wanted = getattr(ops, name)(*given), getattr(torch_ops, name)(*as_tensors)
    for one, two in zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, wanted)), strict=True):
        assert one.shape == two.shape
        assert str(two.dtype).endswith(str(one.dtype))
        np.testing.assert_allclose(one, two, atol=2e-6, rtol=2e-6)


def test_values_are_bent_as_torch_does_it_from_far_below_to_far_above() -> None:
    x = np.linspace(-30, 30, 200_001).astype(np.float32)
    found, wanted = ops.gelu(x.copy()), torch.nn.functional.gelu(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, wanted, atol=1.5e-5)  # where only tails are left
    near = np.abs(x) < 4.5
    np.testing.assert_allclose(found[near], wanted[near], atol=3e-6)


@pytest.mark.parametrize("hidden", [None, whole(3, 6, 11) == 0])
def test_attention_is_the_same_on_numpy_and_torch(hidden: np.ndarray | None) -> None:
    q, keys, heard = values(2, 3, 6, 5, scale=3), values(2, 3, 11, 5, seed=1), values(2, 3, 11, 4, seed=2)
    found = ops.cross_attend(q, keys, ops.lay_out_values(keys, heard), 4, hidden)
    q_, keys_, heard_ = (torch.from_numpy(x) for x in (q, keys, heard))
    shown = None if hidden is None else torch.from_numpy(hidden)
    wanted = torch_ops.cross_attend(q_, keys_, torch_ops.lay_out_values(keys_, heard_), 4, shown)
    assert found.shape == wanted.shape == (2, 6, 3, 4)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("n_rows", [0, 1, 255, 256, 512, 513, 600, 1100, 2000])
def test_blocks_hold_every_row_once_and_are_nearly_equal(n_rows: int) -> None:
    parts = ops.row_blocks(n_rows)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(n_rows))
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) <= ops.BLOCK_ROWS
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) == 1 if n_rows < ops.WORTH_TWO else len(parts) % 2 == 0
    assert ops.in_blocks(lambda part: part, n_rows) == parts


def test_both_kits_have_the_same_functions_and_arguments() -> None:
    def functions(kit: Any) -> dict[str, Callable[..., Any]]:
        found = inspect.getmembers(kit, inspect.isfunction)
        return {name: f for name, f in found if f.__module__ == kit.__name__ and not name.startswith("_")}

    ours, theirs = functions(ops), functions(torch_ops)
    only_ours = {"row_blocks", "gelu", "ops_of", "device_for", "move"}  # the dispatch, and what torch has itself
    assert set(ours) - only_ours == set(theirs) - {"tensor", "find_gpu"}
    for name in set(ours) & set(theirs):
        assert list(inspect.signature(theirs[name]).parameters) == list(inspect.signature(ours[name]).parameters), name
    assert ops.ops_of(np.zeros(1)) is ops
    assert ops.ops_of(torch.zeros(1)) is torch_ops


def test_the_network_gives_the_same_for_both_kinds() -> None:
    ours = trained_network()
    theirs = InContextNetwork(ours.shape, {name: torch.from_numpy(value) for name, value in ours.weights.items()})
    pool, new, labels = values(1, 300, 7), values(1, 280, 7, seed=1), np.full((1, 300), -1)
    labels[0, :9] = [1, 0, 0, 1, 0, 0, 0, 1, 0]
    same = np.zeros((280, 1, 300), bool)
    same[np.arange(280), 0, np.arange(280)] = True
    numpy_stats, numpy_own = PoolStats.fit(pool, np.random.RandomState(3))  # the forest is grown once, and moved
    found = []
    for network, (stats, own), of in (
        (ours, (numpy_stats, numpy_own), np.asarray),
        (theirs, (as_tensors(numpy_stats), as_tensors(numpy_own)), torch.from_numpy),
    ):
        embedded = network.embed_cells(own, stats.columns)
        cache, outputs = network.encode_pool(stats, own, embedded, of(labels))
        plain = stats.describe(of(new))
        cells = network.embed_cells(plain, stats.columns)
        later = network.score_rows(stats, own, of(labels), cache, plain, cells)
        origin = Origin(of(np.ascontiguousarray(pool[:, :280, None])), of(same))
        changed = stats.describe(of(new), origin)
        last = network.score_rows(
            stats, own, of(labels), cache, changed, network.embed_cells(changed, stats.columns), origin.masked
        )
        each = [
            outputs.logits,
            outputs.chances,
            outputs.shares,
            later.logits,
            last.logits,
        ]
        found.append([np.asarray(x) for x in each])
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, atol=2e-4)
