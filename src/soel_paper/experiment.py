"""One experiment: warm up, ask the simulated expert, estimate, train, measure. Seeds are trained as one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from soel import ConfigError, networks
from soel.ask.strategy import Need, Strategy
from soel.assess import ESTIMATORS
from soel.assess.metrics import auroc, class_cover_radius, cover_radius, f1_at_share, f1_score
from soel.learner import Learner
from soel.model import Blend, Fitted, TrainedNetwork
from soel.oracle import SimulatedExpert
from soel.tables.encoder import Encoder
from soel.tables.frame import find_kind, read_frame
from soel.types import ANOMALY, UNLABELLED, Evidence, Floats, Kind, Labels, Pool, PoolView
from soel_paper.catalogue import Content
from soel_paper.cell import Cell
from soel_paper.peers import augment, fit_peer, learn_fixmatch, load_own
from soel_paper.protocols import Split, make_split
from soel_paper.runner import Measures

if TYPE_CHECKING:
    from soel.networks import Model


def prepare_together(learners: Sequence[Learner], pools: Sequence[Pool]) -> list[Blend]:
    """What `learner.prepare(pool)` gives for each run, up to rounding. Pools: one shape."""
    starts: Sequence[TrainedNetwork | None] = [None] * len(learners)
    if learners[0].starts_with_network:
        starts = _new_networks(learners, pools)
    return [learner.warm(pool, start) for learner, pool, start in zip(learners, pools, starts, strict=True)]


def learn_together(
    learners: Sequence[Learner],
    warm: Sequence[Blend],
    pools: Sequence[Pool],
    rounds: Sequence[Sequence[Evidence]],
    labels: Sequence[Labels],
) -> list[Fitted]:
    """What `learner.learn(...)` gives for each run, up to rounding. All with the same number of labels."""
    runs = list(zip(learners, warm, pools, rounds, labels, strict=True))
    if len(runs) == 1 or not learners[0].uses_network(labels[0]):
        return [learner.learn(start, pool, rounds, known) for learner, start, pool, rounds, known in runs]
    starts = [each.network for each in warm]
    warm_networks = [start for start in starts if start is not None]
    if len(warm_networks) < len(starts):
        warm_networks = _new_networks(learners, pools)
    stack = _Stack(learners, pools)
    estimates = [learner.estimate(rounds) for learner, _, _, rounds, _ in runs]
    each = [
        learner.task(start, pool, known, share)
        for (learner, start, pool, _, known), share in zip(runs, estimates, strict=True)
    ]
    tasks = [task for task in each for _ in range(learners[0].profile.n_members)]
    model = stack.join([network.model for network in warm_networks])
    networks.fit(model, stack.rows, tasks, learners[0].profile.schedule, learners[0].objective.always_summed)
    trained = zip(stack.split(model), runs, estimates, strict=True)
    return [learner.finish(part, pool, known, share) for part, (learner, _, pool, _, known), share in trained]


def _new_networks(learners: Sequence[Learner], pools: Sequence[Pool]) -> list[TrainedNetwork]:
    """What `learner.new_network(pool)` gives for each run."""
    if len(learners) == 1:
        return [learners[0].new_network(pools[0])]
    stack = _Stack(learners, pools)
    model = stack.join([learner.new_model(stack.n_features) for learner in learners])
    networks.warm_up(model, stack.rows, learners[0].profile.schedule)
    trained = zip(learners, stack.split(model), pools, strict=True)
    return [TrainedNetwork.measured(part, networks.losses(part, pool.rows)[0]) for learner, part, pool in trained]


class _Stack:
    """The shape that the runs share. rows: (S, N, d), each run's once for each of its members."""

    def __init__(self, learners: Sequence[Learner], pools: Sequence[Pool]) -> None:
        self.learner, self.n_runs = learners[0], len(learners)
        self.n_features = pools[0].n_features
        self.rows = np.repeat(np.stack([pool.rows for pool in pools]), self.learner.profile.n_members, axis=0)

    def join(self, models: Sequence[Model]) -> Model:
        return networks.join(models, self._make)

    def split(self, model: Model) -> list[Model]:
        return networks.split(model, self.n_runs, self._make)

    def _make(self, n_members: int) -> Model:
        return self.learner.new_model(self.n_features, n_members)


Encode = Callable[[Floats], Floats]
KINDS = {"table": Kind.TABLE, "features": Kind.VECTORS, "video": Kind.VECTORS, "pixels": Kind.PICTURES}
REPEATS = 1000


@dataclass
class Run:
    """One seed on its way: what the method has been told so far. Only the expert sees the pool's truth.

    aside: rows that the expert passed on; they are asked again only when no others are left.
    """

    cell: Cell
    split: Split
    learner: Learner
    encode: Encode
    pool: Pool
    test: Floats
    expert: SimulatedExpert
    labels: Labels
    rounds: list[Evidence] = field(default_factory=list)
    aside: list[int] = field(default_factory=list)

    @property
    def strategy_share(self) -> float | None:
        """The true share, for those strategies that the paper gives it to."""
        return self.split.share if Need.CONTAMINATION in self.learner.strategy.needs else None


def run_cells(cells: Sequence[Cell], protocol: str, content: Content) -> list[Measures]:
    """Measures of cells that differ in seed and normal class alone, in their order."""
    runs = [_start(cell, protocol, content) for cell in cells]
    if cells[0].method.asks and any(2 * run.cell.setting.budget > len(run.pool) for run in runs):
        return [{} for _ in cells]  # a budget above half of the pool is no experiment
    if cells[0].method.own:
        return [_own(run) for run in runs]
    if cells[0].method.peer is not None and not cells[0].method.asks:
        return [_peer(run) for run in runs]
    same_shape: dict[tuple[int, ...], list[Run]] = {}
    for run in runs:
        same_shape.setdefault(run.pool.rows.shape, []).append(run)
    results: dict[str, Measures] = {}
    for group in same_shape.values():
        results |= {run.cell.key: found for run, found in zip(group, _run_together(group), strict=True)}
    return [results[cell.key] for cell in cells]


def _start(cell: Cell, protocol: str, content: Content) -> Run:
    setting = cell.setting
    split = make_split(protocol, content, cell.seed, setting.share, setting.order, cell.normal)
    error = cell.method.given_share
    given = None if error is None else float(np.clip(split.share + error, 0.001, 0.5))
    split = split.clean() if cell.method.clean else split
    profile = cell.settled
    kind = profile.kind_for(KINDS.get(str(cell.kind)) or find_kind(read_frame(split.pool)))
    encode = _encoder(split.pool, profile.scaling_for(kind), kind)
    pool, test = Pool.of(encode(split.pool), kind), encode(split.test)
    learner = Learner(profile.settle(kind, pool.n_features, has_gpu=True), cell.seed, contamination=given)
    faults, rng = setting.expert, np.random.default_rng([cell.seed, 1])
    truth = split.pool_truth.astype(int)
    expert = SimulatedExpert(truth, wrong=faults.wrong, skip=faults.skip, bias=faults.bias, rng=rng)
    return Run(cell, split, learner, encode, pool, test, expert, np.full(len(pool), UNLABELLED, np.int8))


def _encoder(pool: Floats, scaling: str, kind: Kind) -> Encode:
    if kind is not Kind.TABLE:  # features of a network, and pixels: their scale carries meaning
        return lambda x: x
    encoder = Encoder.fit(read_frame(pool), scaling)
    return lambda x: encoder.encode(read_frame(x))


def _run_together(runs: list[Run]) -> list[Measures]:
    cell, pools = runs[0].cell, [run.pool for run in runs]
    warm = prepare_together([run.learner for run in runs], pools)
    if cell.setting.stage == "assumptions":
        return [_assumptions(run, model) for run, model in zip(runs, warm, strict=True)]
    is_trained = cell.setting.stage == "fit" and cell.method.peer is None
    trained: Sequence[Blend] = warm
    for n_queries in _round_sizes(cell):
        for run, model in zip(runs, trained, strict=True):
            _ask(run, model, n_queries)
        if is_trained:
            trained = _learn(runs, warm)
    if is_trained and not cell.method.asks:
        trained = _learn(runs, warm)
    if cell.method.peer is not None:
        return [_peer(run) for run in runs]
    return [_measures(run, model) for run, model in zip(runs, trained, strict=True)]


def _round_sizes(cell: Cell) -> list[int]:
    """How many are asked in each round; a negative number of rounds is their size."""
    if not cell.method.asks:
        return []
    n_rounds, budget = cell.method.n_rounds, cell.setting.budget
    size = -n_rounds if n_rounds < 0 else -(-budget // n_rounds)
    return [min(size, budget - start) for start in range(0, budget, size)]


def _ask(run: Run, model: Blend, n_queries: int) -> None:
    """One round: the strategy picks, the expert answers, and a skipped row is replaced from the reserve."""
    proposal = run.learner.propose(
        model,
        run.pool,
        run.labels,
        n_queries,
        share=run.strategy_share,
        last=np.array(run.aside, np.int64),
        for_record=True,
    )
    asked = proposal.rows if run.cell.setting.expert.skip else proposal.rows[:n_queries]
    answers = run.expert.ask(asked)
    answered = np.flatnonzero(answers != UNLABELLED)[:n_queries]
    rows, labels = asked[answered], answers[answered]
    run.labels = run.labels.copy()  # what the strategy saw stays as it was
    run.labels[rows] = labels
    run.aside += [int(row) for row in asked[answers == UNLABELLED] if row not in run.aside]
    run.rounds.append(Evidence(proposal.scores, proposal.embeddings, rows, labels))


def _learn(runs: Sequence[Run], warm: Sequence[Blend]) -> list[Fitted]:
    """Train all runs; those with equally many labels as one model."""
    if runs[0].cell.method.augmented:
        return [_fixmatch(*each) for each in zip(runs, warm, strict=True)]
    counts = [int((run.labels != UNLABELLED).sum()) for run in runs]
    trained: dict[int, Fitted] = {}
    for count in set(counts):
        at = [index for index, number in enumerate(counts) if number == count]
        fitted = learn_together(
            [runs[i].learner for i in at],
            [warm[i] for i in at],
            [runs[i].pool for i in at],
            [runs[i].rounds for i in at],
            [runs[i].labels for i in at],
        )
        trained |= dict(zip(at, fitted, strict=True))
    return [trained[index] for index in range(len(runs))]


def _fixmatch(run: Run, warm: Blend) -> Fitted:
    from soel_paper.sources import features_of

    pictures, extractor = run.split.pictures, run.split.extractor
    assert pictures is not None  # data without pictures are not asked for it
    draws = augment(pictures, lambda changed: run.encode(features_of(changed, extractor)), run.cell.seed)
    return learn_fixmatch(run.learner, warm, run.pool, run.rounds, run.labels, draws)


def _measures(run: Run, model: Blend) -> Measures:
    """Everything that an artefact may show."""
    rows = np.flatnonzero(run.labels != UNLABELLED)
    found: dict[str, float] = {
        "share": run.split.share,
        "anomalies_found": float((run.labels == ANOMALY).sum()),
        **_query_measures(run, rows),
    }
    if isinstance(model, Fitted):
        pool, rest = model.pool_scores, run.labels == UNLABELLED
        found |= {"alpha": model.estimate.value} | _detection(run.split, pool, model.score(run.test))
        found["ranking"] = auroc(run.split.pool_truth[rest], pool[rest])
    return _finite(found)


def _finite(found: Mapping[str, float]) -> Measures:
    """None for what is not defined, such as a distance to a kind that was never asked about."""
    return {name: value if np.isfinite(value) else None for name, value in found.items()}


def _query_measures(run: Run, rows: np.ndarray) -> dict[str, float]:
    """Estimates of the share and cover radii, from the view after the warm-up."""
    if not run.rounds or not len(rows):
        return {}
    names = [name for name in ESTIMATORS if name != "fixed"]
    values = {f"alpha_{name}": float(ESTIMATORS.create(name).estimate(run.rounds).value) for name in names}
    embeddings = run.rounds[0].embeddings
    delta = class_cover_radius(embeddings, rows, run.split.pool_truth)
    return {
        **values,
        "radius": cover_radius(embeddings, rows),
        "delta": delta,
        "delta_defined": float(np.isfinite(delta)),
    }


def _detection(split: Split, pool: Floats, scores: Floats) -> dict[str, float]:
    """On the test rows. f1_pool_cut: alarms above the cut that marks the true share of the pool."""
    cut = np.quantile(pool, 1 - split.share)
    return {
        "f1": f1_at_share(split.test_truth, scores),
        "f1_pool_cut": f1_score(split.test_truth, scores > cut),
        "auroc": auroc(split.test_truth, scores),
    }


def _peer(run: Run) -> Measures:
    """Another detector, with the labels that were asked, or with all of them."""
    method = run.cell.method
    assert method.peer is not None
    labels = run.expert.ask(range(len(run.pool))) if method.all_labels else run.labels
    fitted = fit_peer(method.peer, run.pool.rows, labels, run.cell.seed, **method.peer_options)
    return _finite(_detection(run.split, fitted.pool, fitted.score(run.test)))


def _own(run: Run) -> Measures:
    """A method of the user's, which asks for itself."""
    method, budget = run.cell.method, run.cell.setting.budget
    asked: set[int] = set()

    def ask(rows: Sequence[int]) -> Labels:
        asked.update(map(int, rows))
        if len(asked) > budget:
            raise ConfigError(f"{method.own[0]} asked for {len(asked)} labels, and the budget is {budget}.")
        return run.expert.ask(rows)

    score = load_own(method.own[0])(run.pool.rows, ask, budget, run.cell.seed)
    return _finite(_detection(run.split, score(run.pool.rows), score(run.test)))


def _assumptions(run: Run, model: Blend) -> Measures:
    scores, embeddings = run.learner.look(model, run.pool)
    strategy, truth = run.learner.strategy, run.split.pool_truth
    view = PoolView(scores, embeddings, run.labels, run.strategy_share)
    return _finite(assumption_measures(strategy, view, truth, run.cell.setting.budget, run.cell.seed))


def assumption_measures(
    strategy: Strategy, view: PoolView, is_anomaly: np.ndarray, n_queries: int, seed: int
) -> dict[str, float]:
    """Correlations between the scores of one query set (fig:corr-mat), and equal scores with unequal labels.

    The queries are drawn REPEATS times from the same view.
    """
    rngs = [np.random.default_rng([seed, repeat]) for repeat in range(REPEATS)]
    scores = np.stack([view.scores[strategy.select(view, n_queries, rng).rows] for rng in rngs])  # (R, K)
    n_equal, n_violations = equal_scores(view.scores, is_anomaly)
    return {**off_diagonal(scores), "equal_scores": float(n_equal), "violations": float(n_violations)}


def off_diagonal(scores: Floats) -> dict[str, float]:
    """Mean, largest and smallest correlation of two places of the query set; places without spread are left out."""
    moving = scores[:, np.ptp(scores, axis=0) > 0]
    values = np.zeros(1)
    if moving.shape[1] > 1:
        matrix = np.asarray(np.corrcoef(moving.T))
        values = matrix[np.eye(len(matrix)) == 0]
    return {f"correlation_{name}": float(getattr(values, name)()) for name in ("mean", "max", "min")}


def equal_scores(scores: Floats, is_anomaly: np.ndarray) -> tuple[int, int]:
    """Pairs of rows with the same score, and how many of them have opposite labels."""
    _, at = np.unique(np.asarray(scores, np.float32), return_inverse=True)
    sizes, anomalies = np.bincount(at), np.bincount(at, weights=is_anomaly)
    n_equal = int((sizes * (sizes - 1) // 2).sum())
    return n_equal, int((anomalies * (sizes - anomalies)).sum())
