"""The laws of a backbone. A part makes one: `make(n_features, rngs)`, a member for each generator.

Rows here have WIDTH values: as many as a picture of 4 x 4 pixels, so that backbones of pictures may be held to
the same laws. Dropout and the like should be off: several laws compare two passes while training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from soel.assess.metrics import auroc
from soel.deep import Tensor, torch
from soel.networks import Model, fit, losses, warm_up
from soel.networks.base import Backbone
from soel.networks.objectives import Task
from soel.settings import Schedule
from soel.testing.laws import ABSOLUTE, RELATIVE, Kit, require, require_repeats
from soel.types import ItemWeights, RankedWeights

MakeBackbone = Callable[[int, Sequence[np.random.Generator]], Backbone]
WIDTH, ROWS, MEMBERS = 16, 40, 2
TOY_WIDTH, TOY_ROWS = 6, 300


def _rows(n_members: int = MEMBERS) -> Tensor:
    """Values from -1 to 1, the same rows for every member: (S, ROWS, WIDTH)."""
    x = np.random.default_rng(0).uniform(-1, 1, (ROWS, WIDTH)).astype(np.float32)
    return torch.from_numpy(x).expand(n_members, ROWS, WIDTH)


def _prepare(make: MakeBackbone, n_members: int = MEMBERS, seed: int = 0) -> Backbone:
    backbone = make(WIDTH, [np.random.default_rng([seed, member]) for member in range(n_members)])
    backbone.eval().prepare(_rows(n_members))
    return backbone


def _require_close(first: Tensor, second: Tensor, message: str) -> None:
    require(first.shape == second.shape, f"{message} Shapes: {tuple(first.shape)} and {tuple(second.shape)}.")
    gap = float((first - second).detach().abs().max())
    require(torch.allclose(first, second, RELATIVE, ABSOLUTE), f"{message} Largest difference: {gap:.3g}.")


BACKBONE_LAWS: Kit[MakeBackbone] = Kit()
check_backbone = BACKBONE_LAWS.check


@BACKBONE_LAWS.law
def check_weights_repeat(make: MakeBackbone) -> None:
    """Weights follow the generators given; torch's global generator is neither read nor moved."""
    before = torch.random.get_rng_state()
    require_repeats(
        lambda: _prepare(make), lambda backbone: [value.numpy() for value in backbone.state_dict().values()], {}
    )
    require(torch.equal(before, torch.random.get_rng_state()), "Torch's global generator was used.")


@BACKBONE_LAWS.law
def check_losses_are_one_number_a_row_and_member(make: MakeBackbone) -> None:
    """(S, B) and finite, while training and afterwards; rows that differ have other losses, and so do other seeds."""
    backbone = _prepare(make)
    for mode in (True, False):
        for name, loss in zip(("L0", "L1"), backbone.train(mode).losses(_rows()), strict=True):
            require(loss.shape == (MEMBERS, ROWS), f"{name} of {MEMBERS} members is {tuple(loss.shape)}.")
            require(torch.isfinite(loss).all(), f"{name} must be finite.")
            require((loss.std(dim=1) > 0).all(), f"{name} is the same for all rows: it tells nothing.")
    first, other = (_prepare(make, seed=seed).state_dict() for seed in (0, 9))
    require(any(not torch.equal(other[name], first[name]) for name in other), "Another seed must give other weights.")


@BACKBONE_LAWS.law
def check_losses_oppose_one_another(make: MakeBackbone) -> None:
    """Training on L0 lowers L0, and leaves it lower than training on L1 does."""
    means = []
    for which in (0, 1):
        backbone = _prepare(make).train()
        optimizer = torch.optim.Adam(backbone.parameters(), lr=1e-3)
        for _ in range(10):
            optimizer.zero_grad()
            backbone.losses(_rows())[which].mean().backward()
            optimizer.step()
        means.append(backbone.losses(_rows())[0].mean(dim=1))
    before, (after, opposed) = _prepare(make).train().losses(_rows())[0].mean(dim=1), means
    require((after < before).all(), f"Training on L0 must lower L0: {before.tolist()} to {after.tolist()}.")
    require((after < opposed).all(), f"Training on L1 leaves L0 lower: {after.tolist()} and {opposed.tolist()}.")


@BACKBONE_LAWS.law
def check_embeddings_tell_rows_apart(make: MakeBackbone) -> None:
    """(S, B, D) and finite; equal rows have equal embeddings, other rows others."""
    x = _rows().clone()
    x[:, 1] = x[:, 0]
    embedding = _prepare(make).eval().embed(x)
    require(embedding.ndim == 3 and embedding.shape[:2] == (MEMBERS, ROWS), f"Embeddings are {tuple(embedding.shape)}.")
    require(torch.isfinite(embedding).all(), "Embeddings must be finite.")
    _require_close(embedding[:, 1], embedding[:, 0], "Equal rows must have equal embeddings.")
    gaps = (embedding[:, 2:] - embedding[:, :1]).abs().amax(dim=2)
    require((gaps > 0).all(), f"{int((gaps == 0).sum())} rows have the embedding of another one.")


@BACKBONE_LAWS.law
def check_gradients_reach_every_parameter(make: MakeBackbone) -> None:
    """Of every member: a weight that no loss depends on is never learnt. `last_layer` names one of them."""
    backbone = _prepare(make).train()
    l0, l1 = backbone.losses(_rows())
    (l0.mean() + 0.5 * l1.mean()).backward()
    names = dict(backbone.named_parameters())
    require(backbone.last_layer in names, f"There is no parameter {backbone.last_layer!r} among {', '.join(names)}.")
    for name, parameter in names.items():
        require(parameter.grad is not None, f"No gradient reaches {name}.")
        assert parameter.grad is not None
        shares = parameter.grad.reshape(MEMBERS, -1) if len(parameter) % MEMBERS == 0 else parameter.grad[None]
        require((shares.abs().amax(dim=1) > 0).all(), f"The gradient of {name} is 0 for a member.")


@BACKBONE_LAWS.law
def check_members_never_mix(make: MakeBackbone) -> None:
    """A member computes in a stack what it computes alone, whatever the rows of the others are."""
    stack, x = _prepare(make, 3), _rows(3).clone()
    x[0] = x[0].flip(0) * 2
    together, embedded = stack.train().losses(x), stack.eval().embed(x)
    for member in range(1, 3):
        alone = make(WIDTH, [np.random.default_rng([0, member])])
        alone.eval().prepare(_rows(1))
        for both, single in zip(together, alone.train().losses(_rows(1)), strict=True):
            _require_close(both[member], single[0], f"Member {member} has other losses in a stack than alone.")
        own = alone.eval().embed(_rows(1))[0]
        _require_close(embedded[member], own, f"Member {member} has other embeddings in a stack.")


@BACKBONE_LAWS.law
def check_rows_do_not_meet_after_training(make: MakeBackbone) -> None:
    """In eval mode a row's losses and embedding are its own, whatever stands beside it."""
    backbone = _prepare(make).eval()
    for name, compute in (("losses", lambda x: torch.stack(backbone.losses(x), -1)), ("embedding", backbone.embed)):
        few, all_rows = compute(_rows()[:, :3]), compute(_rows())[:, :3]
        _require_close(few, all_rows, f"The {name} of a row depends on the rows beside it.")


@BACKBONE_LAWS.law
def check_state_is_the_whole_backbone(make: MakeBackbone) -> None:
    """Another backbone with the same state dict has the same losses."""
    first, second = _prepare(make), make(WIDTH, [np.random.default_rng([9, m]) for m in range(MEMBERS)])
    first.train().losses(_rows())
    second.load_state_dict(first.state_dict())
    for mine, theirs in zip(first.eval().losses(_rows()), second.eval().losses(_rows()), strict=True):
        require(torch.equal(mine, theirs), "A part of the backbone is missing from its state dict.")


@BACKBONE_LAWS.law
def check_training_beats_no_training(make: MakeBackbone) -> None:
    """Every parameter changes, scores are not constant, and they find more anomalies than before any training.

    Normal rows of the toy vary along the first columns, anomalies along the last ones; six anomalies and fourteen
    normal rows are labelled, and the rest is ranked.
    """
    is_anomaly = np.arange(TOY_ROWS) < TOY_ROWS // 10
    x = np.random.default_rng(1).normal(size=(TOY_ROWS, TOY_WIDTH)) * np.where(np.arange(TOY_WIDTH) < 3, 1.0, 0.1)
    x[is_anomaly] = 1.5 * x[is_anomaly][:, ::-1]
    x = x.astype(np.float32)
    known = np.concatenate([np.flatnonzero(is_anomaly)[:6], np.flatnonzero(~is_anomaly)[:14]])
    anomaly = is_anomaly[known].astype(np.float32)
    rest = np.setdiff1d(np.arange(TOY_ROWS), known)
    task = Task(known, ItemWeights(1 - anomaly, anomaly), rest, RankedWeights(0.5), 0.1)
    model = Model(make(TOY_WIDTH, [np.random.default_rng(0)]), [np.random.default_rng(0)], learning_rate=1e-3)
    schedule = Schedule(epochs=100, learning_rate=1e-3, pseudo_labels="batch")
    untrained = {name: value.detach().clone() for name, value in model.backbone.named_parameters()}
    fresh = auroc(is_anomaly, losses(model, x)[0][0])
    warm_up(model, x, schedule)
    fit(model, x, [task], schedule)
    for name, value in model.backbone.named_parameters():
        require(not torch.equal(value, untrained[name]), f"Training does not change {name}.")
    scores = losses(model, x)[0][0]
    require(np.ptp(scores) > 0, "All scores are the same after training.")
    found = auroc(is_anomaly, scores)
    require(found > max(fresh, 0.85), f"AUROC of the toy is {fresh:.3f} before and {found:.3f} after training.")
