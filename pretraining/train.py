"""Training on batches of made-up and real tasks, until the time is up; a run goes on from its last checkpoint."""

from __future__ import annotations

import copy
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pretraining import checkpoint, questions, tasks
from pretraining.batches import POOL_ROWS, Ahead, Batch, Plan, synchronise
from pretraining.module import Module
from pretraining.muon import Muon
from soel.detect.incontext.network import (
    HIGHEST_SHARE,
    LOWEST_SHARE,
    N_SHARE_BINS,
    CellEmbeddings,
    InContextNetwork,
    Outputs,
    Shape,
)
from soel.detect.incontext.row_features import RowFeatures

MOST_ROUNDS = 6  # in which the network asks for a set of labels
TO_THE_END = 0.15, 15  # share of these sets that it asks for one at a time, of so many labels at most
ANOMALY_WEIGHT = 0.35  # of the anomalies beside the normal rows, in the loss for ranking
CHANCE_WEIGHT, SHARE_WEIGHT = 1.0, 0.05
KNOWN_WEIGHT = 0.1  # of rows that carry a label beside others: easy, but what is said of them must not be nonsense


@dataclass
class Run:
    """A network in training."""

    module: Module  # in float32
    worker: Module  # the same in the precision of the device: what is run
    average: dict[str, Tensor]
    optimisers: list[torch.optim.Optimizer]
    step: int = 0
    spent: float = 0.0  # seconds of training so far
    history: list[str] = field(default_factory=list)


def begin(shape: Shape, plan: Plan, device: torch.device) -> Run:
    """A new run."""
    torch.manual_seed(plan.seed)
    module = Module(shape).to(device)
    average = {name: value.detach().clone().float() for name, value in module.state_dict().items()}
    return Run(module, _worker(module), average, _optimisers(module, plan))


def resume(folder: Path, plan: Plan, device: torch.device) -> Run:
    """The run that a checkpoint holds."""
    module, average, moments, notes = checkpoint.load(folder, device)
    run = Run(
        module, _worker(module), average, _optimisers(module, plan), notes["step"], notes["spent"], notes["history"]
    )
    _set_moments(run, moments)
    return run


def keep(run: Run, folder: Path, **more: Any) -> None:
    """Write the run where it can be gone on from."""
    notes = {"step": run.step, "spent": run.spent, "history": run.history, **more}
    checkpoint.save(folder, run.module, run.average, _moments(run), notes)


def train(run: Run, plan: Plan, device: torch.device, before_decay: Callable[[Run], None] | None = None) -> None:
    """Train for the plan's seconds; before the rate falls, call back once."""
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans every new shape anew: 990 ms a step on an H200, not 195
    chance = random.Random(plan.seed + 7919 * run.step)
    torch.manual_seed(plan.seed + 104729 * run.step)
    ready = Ahead(plan, device, random.Random(chance.random()))
    started, spent_before = time.perf_counter(), run.spent
    losses: list[Tensor] = []
    told_at, step_at = started, run.step
    while (elapsed := time.perf_counter() - started) < plan.seconds:
        left = plan.seconds - elapsed
        if before_decay is not None and left < plan.decay_seconds:
            before_decay(run)
            before_decay = None
        _set_rate(run, plan, min(1.0, left / plan.decay_seconds) if plan.decay_seconds else 1.0)
        _copy(run.module, run.worker)
        for _ in range(plan.batches_a_step):
            loss = batch_loss(run.worker.network, ready.take(), plan, chance) / plan.batches_a_step
            loss.backward()
            losses.append(loss.detach())
        _move_gradients(run.worker, run.module)
        nn.utils.clip_grad_norm_(run.module.parameters(), 1.0)
        for optimiser in run.optimisers:
            optimiser.step()
        run.step += 1
        run.spent = spent_before + time.perf_counter() - started
        if run.step % 10 == 0:
            _follow(run, 0.999**10)
        if run.step % 200 == 0:
            now = time.perf_counter()
            loss_now = torch.stack(losses).sum().item() / (len(losses) / plan.batches_a_step)
            pace = 1000 * (now - told_at) / (run.step - step_at)
            line = f"step {run.step} spent {run.spent:.0f}s loss {loss_now:.4f} {pace:.1f} ms a step"
            run.history.append(line)
            plan.log(line)
            losses, told_at, step_at = [], now, run.step
    ready.close()
    synchronise(device)


def batch_loss(network: InContextNetwork, batch: Batch, plan: Plan, chance: random.Random) -> Tensor:
    """The loss of one batch of tasks, each under two sets of labels."""
    embedded = network.embed_cells(batch.rows, batch.stats.columns)
    both = batch.twice()
    embedded = CellEmbeddings(torch.cat([embedded.cells, embedded.cells]), torch.cat([embedded.rows, embedded.rows]))
    with torch.no_grad():
        labels = choose_labels(network, both, embedded, plan, chance)
        pool = both.rows.first(both.n_pool)
        named = questions.name_columns(pool, both.is_anomaly[:, : both.n_pool], labels, chance)
    outputs = network.encode_pool(both.stats, both.rows, embedded, labels, named)[1]
    return loss_of(outputs, both.is_anomaly, labels)


def loss_of(outputs: Outputs, is_anomaly: Tensor, labels: Tensor) -> Tensor:
    """For ranking: every task alike, and in it the two kinds of row nearly so. For chances and shares: as they are."""
    truth = is_anomaly.float()
    weight = torch.ones_like(truth)
    weight[:, : labels.shape[1]] = torch.where(labels < 0, 1.0, KNOWN_WEIGHT)
    odd, usual = truth * weight, (1 - truth) * weight
    each = F.binary_cross_entropy_with_logits(outputs.logits, truth, reduction="none")
    ranking = ANOMALY_WEIGHT * (each * odd).sum(1) / odd.sum(1).clamp_min(1)
    ranking = ranking + (1 - ANOMALY_WEIGHT) * (each * usual).sum(1) / usual.sum(1).clamp_min(1)
    proper = F.binary_cross_entropy_with_logits(outputs.chances, truth, reduction="none")
    chance = (proper * weight).sum(1) / weight.sum(1)
    assert outputs.shares is not None
    share = F.cross_entropy(outputs.shares, share_bin(truth[:, : labels.shape[1]].mean(1)))
    return ranking.mean() + CHANCE_WEIGHT * chance.mean() + SHARE_WEIGHT * share


def share_bin(share: Tensor) -> Tensor:
    """The bin (B,) in which a share of anomalies lies."""
    low, high = math.log(LOWEST_SHARE / (1 - LOWEST_SHARE)), math.log(HIGHEST_SHARE / (1 - HIGHEST_SHARE))
    place = (torch.logit(share.clamp(LOWEST_SHARE, HIGHEST_SHARE)) - low) / (high - low)
    return (place * N_SHARE_BINS).long().clamp(0, N_SHARE_BINS - 1)


def share_prior(n_draws: int = 1_000_000, seed: int = 0) -> Tensor:
    """How often a pool's share of anomalies lies in each bin (b,), smoothed: few pools have a share near the lowest."""
    chance, device = random.Random(seed), torch.device("cpu")
    torch.manual_seed(seed)
    share = tasks.draw_shares(n_draws, device, chance)
    rows = torch.tensor(POOL_ROWS)[torch.randint(0, len(POOL_ROWS), (n_draws,))].float()
    bins = share_bin(torch.binomial(rows, share) / rows)
    prior = torch.bincount(bins, minlength=N_SHARE_BINS).float() / n_draws
    prior[0] = prior[1:3].mean()  # pools without any anomaly
    kernel = torch.tensor([[[0.25, 0.5, 0.25]]])
    for _ in range(2):
        prior = F.conv1d(F.pad(prior[None, None], (1, 1), mode="replicate"), kernel)[0, 0]
    return prior


def choose_labels(
    network: InContextNetwork, both: Batch, embedded: CellEmbeddings, plan: Plan, chance: random.Random
) -> Tensor:
    """Labels (2B, N) of two times B tasks, that some strategy asked for, or the network itself."""
    truth = both.is_anomaly[:, : both.n_pool]
    if chance.random() < plan.own_questions:
        return _own_labels(network, both, embedded, truth, chance)
    pool, half = both.rows.first(both.n_pool), len(truth) // 2
    return torch.cat([_asked(pool, truth, part, chance) for part in (slice(0, half), slice(half, None))])


def _asked(pool: RowFeatures, truth: Tensor, part: slice, chance: random.Random) -> Tensor:
    """Labels (b, N) of some of the tasks, by a strategy that needs no network."""
    labels = torch.full_like(truth[part], -1, dtype=torch.long)
    n_asked = min(questions.n_labels(chance), truth.shape[1] // 2)
    if not n_asked:
        return labels
    few = replace(pool, scores=pool.scores[part], distances=pool.distances[:, part])
    asked = questions.ask(few, n_asked, chance.choice(questions.STRATEGIES), chance)
    return questions.answer(truth[part], asked, labels, _share_wrong(chance))


def _own_labels(
    network: InContextNetwork, both: Batch, embedded: CellEmbeddings, truth: Tensor, chance: random.Random
) -> Tensor:
    """Labels (2B, N) that the network asked for in rounds: by the product's rule one at a time, or with a random tilt.

    The first half of the tasks ends after a random round.
    """
    n_tasks, n_pool = truth.shape
    labels = torch.full_like(truth, -1, dtype=torch.long)
    n_asked = min(questions.n_labels(chance), n_pool // 2)
    if not n_asked:
        return labels
    to_the_end = n_asked <= TO_THE_END[1] and chance.random() < TO_THE_END[0]
    n_rounds = n_asked if to_the_end else min(n_asked, chance.randint(1, MOST_ROUNDS))
    tilt = 0.5 + 1.5 * torch.rand(n_tasks, 1, device=truth.device)
    wrong, ending, ended = _share_wrong(chance), chance.randrange(n_rounds), labels
    pool, own_embedded = both.rows.first(n_pool), embedded.part(slice(0, n_pool))
    for turn in range(n_rounds):
        n_now = n_asked // n_rounds if turn else n_asked - (n_rounds - 1) * (n_asked // n_rounds)
        score = network.encode_pool(both.stats, pool, own_embedded, labels)[1].rank_by(any_label=turn > 0)
        score = (score - score.mean(1, keepdim=True)) / (score.std(1, keepdim=True) + 1e-3)
        tilt = questions.balance(labels) if to_the_end else tilt
        asked = questions.apart(pool.distances[0], tilt * score, n_now, labels >= 0)
        labels = questions.answer(truth, asked, labels, wrong)
        ended = labels if turn == ending else ended
    return torch.cat([ended[: n_tasks // 2], labels[n_tasks // 2 :]])


def _share_wrong(chance: random.Random) -> float:
    return 0.1 * chance.random() if chance.random() < 0.1 else 0.0


def _optimisers(module: Module, plan: Plan) -> list[torch.optim.Optimizer]:
    """Hidden matrices by Muon, everything else by AdamW."""
    matrices = [p for n, p in module.named_parameters() if p.ndim == 2 and _is_hidden(n)] if plan.orthogonal else []
    chosen = {id(p) for p in matrices}
    others = [p for p in module.parameters() if id(p) not in chosen]
    fused = next(module.parameters()).is_cuda
    adam = torch.optim.AdamW(others, lr=plan.rate, weight_decay=1e-2, betas=(0.9, 0.98), fused=fused)
    if not matrices:
        return [adam]
    muon = Muon(matrices, lr=plan.matrix_rate)
    return [adam, muon]


def _worker(module: Module) -> Module:
    return copy.deepcopy(module).bfloat16() if next(module.parameters()).is_cuda else copy.deepcopy(module)


@torch.no_grad()
def _copy(source: Module, target: Module) -> None:
    torch._foreach_copy_(list(target.parameters()), list(source.parameters()))


@torch.no_grad()
def _move_gradients(source: Module, target: Module) -> None:
    for of, to in zip(source.parameters(), target.parameters(), strict=True):
        to.grad = torch.zeros_like(to) if to.grad is None else to.grad
        of.grad = torch.zeros_like(of) if of.grad is None else of.grad
    gradients = [p.grad for p in source.parameters() if p.grad is not None]
    torch._foreach_copy_([p.grad for p in target.parameters() if p.grad is not None], gradients)
    torch._foreach_zero_(gradients)


def _is_hidden(name: str) -> bool:
    return name.startswith("blocks.") and "look" not in name


def _set_rate(run: Run, plan: Plan, factor: float) -> None:
    factor *= min(1.0, (run.step + 1) / plan.warmup_steps)
    for optimiser, rate in zip(run.optimisers, (plan.rate, plan.matrix_rate), strict=False):
        for group in optimiser.param_groups:
            group["lr"] = rate * factor


def _follow(run: Run, decay: float) -> None:
    state = run.module.state_dict()
    names = list(state)
    torch._foreach_lerp_([run.average[n] for n in names], [state[n].float() for n in names], 1 - decay)


def _moments(run: Run) -> dict[str, Tensor]:
    names = {id(p): n for n, p in run.module.named_parameters()}
    moments = {}
    for optimiser in run.optimisers:
        for parameter, state in optimiser.state.items():
            for kind, value in state.items():
                if isinstance(value, Tensor) and value.shape == parameter.shape:
                    moments[f"{names[id(parameter)]}|{kind}"] = value
    return moments


def _set_moments(run: Run, moments: dict[str, Tensor]) -> None:
    for optimiser in run.optimisers:
        for group in optimiser.param_groups:
            for parameter in group["params"]:
                name = next(n for n, p in run.module.named_parameters() if p is parameter)
                state = {k.split("|")[1]: v.to(parameter.device) for k, v in moments.items() if k.split("|")[0] == name}
                if not state:
                    continue
                if "exp_avg" in state:
                    state["step"] = torch.tensor(float(run.step), device=parameter.device)
                optimiser.state[parameter] = state
