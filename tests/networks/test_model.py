"""A model's state: copied, saved, restored, joined and split; runs in a stack are what they are alone."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from soel.networks import Model, losses, warm_up
from soel.networks.row_networks import Autoencoder
from soel.networks.stack import join, split
from soel.settings import Schedule

D = 4
X = np.random.default_rng(0).normal(size=(20, D)).astype(np.float32)
SCHEDULE = Schedule(epochs=1, learning_rate=1e-2, warm_up_epochs=2)


def fresh(n_members: int = 1, seed: int = 0) -> Model:
    rngs = [np.random.default_rng([seed, member]) for member in range(n_members)]
    return Model(Autoencoder(D, rngs), rngs, learning_rate=1e-2)


def trained(n_members: int = 1, seed: int = 0) -> Model:
    model = fresh(n_members, seed)
    warm_up(model, X, SCHEDULE)
    return model


def assert_same_state(one: Model, other: Model) -> None:
    mine, theirs = one.tensors(), other.tensors()
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert torch.equal(value, theirs[name]), name
    assert one.notes() == other.notes()


def assert_goes_on_alike(one: Model, other: Model) -> None:
    """The next epochs are the same too: Adam's moments and the generators are part of the state."""
    for model in (one, other):
        warm_up(model, X, SCHEDULE)
    assert_same_state(one, other)


def test_a_copy_is_the_same_and_goes_its_own_way() -> None:
    model = trained()
    twin = model.copy()
    assert_same_state(model, twin)
    before = model.tensors()
    warm_up(twin, X, SCHEDULE)
    for name, value in model.tensors().items():
        assert torch.equal(value, before[name]), f"training a copy changed {name} of the original"
    assert len(model.history) == 2
    assert len(twin.history) == 4
    warm_up(model, X, SCHEDULE)
    assert_same_state(model, twin)


def test_the_state_survives_json_and_another_model() -> None:
    model, twin = trained(2), fresh(2, seed=9)
    twin.restore(model.tensors(), json.loads(json.dumps(model.notes())))
    assert_same_state(model, twin)
    np.testing.assert_array_equal(losses(model, X), losses(twin, X))
    assert_goes_on_alike(model, twin)


def test_going_on_leaves_the_saved_state_alone() -> None:
    tensors, notes = trained().tensors(), trained().notes()
    before = {name: value.clone() for name, value in tensors.items()}
    twin = fresh()
    twin.restore(tensors, notes)
    warm_up(twin, X, SCHEDULE)
    for name, value in tensors.items():
        assert torch.equal(value, before[name]), name


def test_joined_models_are_the_models_side_by_side() -> None:
    models = [trained(2, seed) for seed in (3, 4, 5)]
    stack = join(models, lambda n: fresh(n, seed=9))
    assert stack.n_members == 6
    alone = np.concatenate([losses(model, X)[0] for model in models])
    np.testing.assert_allclose(losses(stack, X)[0], alone, rtol=1e-5, atol=1e-6)
    assert np.array(stack.history).shape == (2, 6)
    np.testing.assert_array_equal(np.array(stack.history)[:, 2:4], models[1].history)
    assert stack.notes()["generators"][4] == models[2].notes()["generators"][0]


@pytest.mark.parametrize("size", [1, 2])
def test_what_was_joined_comes_apart_as_it_was(size: int) -> None:
    models = [trained(size, seed) for seed in (3, 4)]
    parts = split(join(models, lambda n: fresh(n, seed=9)), 2, lambda n: fresh(n, seed=9))
    for model, part in zip(models, parts, strict=True):
        assert_same_state(model, part)
        assert_goes_on_alike(model, part)
