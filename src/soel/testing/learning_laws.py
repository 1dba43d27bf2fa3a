"""The laws of strategies, estimators of the share, and objectives.

A part is what makes one: a class, or any callable without arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from soel.ask.strategy import Need, Strategy
from soel.assess.share import ContaminationEstimator
from soel.errors import ConfigError, DataError
from soel.networks.objectives import Objective, UnlabelledWeights
from soel.testing.laws import Kit, equal, example_view, expecting, require, require_repeats
from soel.types import ANOMALY, NORMAL, UNLABELLED, Evidence, Floats, ItemWeights, PoolView, RankedWeights, Selection

MakeStrategy = Callable[[], Strategy]
MakeEstimator = Callable[[], ContaminationEstimator]
MakeObjective = Callable[[], Objective]


# Strategies


def _select(strategy: Strategy, view: PoolView, n: int, seed: int = 0, n_reserve: int = 0) -> Selection:
    return strategy.select(view, n, np.random.default_rng(seed), n_reserve)


def _arrays(view: PoolView | Evidence) -> dict[str, np.ndarray]:
    return {name: value for name, value in vars(view).items() if isinstance(value, np.ndarray)}


STRATEGY_LAWS: Kit[MakeStrategy] = Kit()
check_strategy = STRATEGY_LAWS.check


@STRATEGY_LAWS.law
def check_selections_repeat(make: MakeStrategy) -> None:
    """Equal views and generators give equal selections; global seeds and the view stay."""
    view = example_view(n_labelled=3)
    require_repeats(make, lambda strategy: _select(strategy, view, 8, 3), _arrays(view))


@STRATEGY_LAWS.law
def check_rows_are_distinct_and_unlabelled(make: MakeStrategy) -> None:
    """As many rows as were asked for, none twice, none that has a label, each with a probability above 0."""
    for n_rows, n_labelled, n in ((2, 0, 1), (2, 1, 1), (7, 3, 4), (40, 0, 5), (40, 12, 20), (40, 39, 1)):
        for seed in range(3):
            view = example_view(n_rows, seed, n_labelled)
            found = _select(make(), view, n, seed)
            case = f"{n} of {n_rows} rows, {n_labelled} of them labelled: got {found.rows.tolist()}"
            require(len(found.rows) == n == len(set(found.rows.tolist())), f"Rows must be as many, none twice. {case}")
            require(set(found.rows.tolist()) <= set(view.unlabelled.tolist()), f"Rows must have no label. {case}")
            require(found.odds.shape == found.rows.shape, f"There must be one probability a row. {case}")
            require(((found.odds > 0) & (found.odds <= 1)).all(), f"Odds must lie above 0 and at most at 1. {case}")


@STRATEGY_LAWS.law
def check_selection_is_prefix_closed(make: MakeStrategy) -> None:
    """A reserve follows the queries and does not change them; it is as long as the pool allows."""
    for n_labelled in (0, 5):
        view = example_view(n_labelled=n_labelled)
        alone, longer, all_rows = (_select(make(), view, 6, n_reserve=n) for n in (0, 10, 1000))
        require(len(longer.rows) == 16, f"6 queries and a reserve of 10 are 16 rows, got {len(longer.rows)}.")
        first = longer.rows[:6]
        same = np.array_equal(first, alone.rows) and np.allclose(longer.odds[:6], alone.odds, rtol=1e-9)
        require(same, f"A reserve must not change the queries: {alone.rows.tolist()}, with it {first.tolist()}.")
        complete = sorted(all_rows.rows.tolist()) == view.unlabelled.tolist()
        require(complete, f"A reserve beyond the pool holds all {len(view.unlabelled)} rows without a label.")


@STRATEGY_LAWS.law
def check_equal_rows_are_no_trouble(make: MakeStrategy) -> None:
    """A pool of copies of one row is asked about, each copy once."""
    for n_labelled in (0, 2):
        view = replace(
            example_view(12, n_labelled=n_labelled), scores=np.zeros(12), embeddings=np.ones((12, 3), np.float32)
        )
        found = _select(make(), view, 12 - n_labelled)
        require(sorted(found.rows.tolist()) == view.unlabelled.tolist(), f"All copies were asked for, got {found}.")
        require(np.isfinite(found.odds).all(), f"Odds must be finite, got {found.odds.tolist()}.")


@STRATEGY_LAWS.law
def check_impossible_numbers_are_refused(make: MakeStrategy) -> None:
    """No query at all, or more than there are rows without a label, is a DataError."""
    for n in (0, -1, 51):
        with expecting(f"Asking for {n} of 50 rows without a label", DataError):
            _select(make(), example_view(n_labelled=10), n)


@STRATEGY_LAWS.law
def check_only_what_is_declared_is_looked_at(make: MakeStrategy) -> None:
    """What `needs` does not name is not computed: the selection is the same without it. A missing share is refused."""
    view, needs = example_view(n_labelled=3), make().needs
    blind = replace(view, scores=view.scores if Need.SCORES in needs else np.zeros(0))
    if not needs & {Need.EMBEDDINGS, Need.GRADIENTS}:
        blind = replace(blind, embeddings=np.zeros((0, 0)))
    if Need.CONTAMINATION in needs:
        with expecting("A view without the share of anomalies", ConfigError):
            _select(make(), replace(view, contamination=None), 3)
    else:
        blind = replace(blind, contamination=None)
    try:
        same = equal(_select(make(), blind, 5), _select(make(), view, 5))
    except (IndexError, ValueError) as error:
        raise AssertionError(f"The strategy looks at what it does not name in `needs`: {error}") from error
    require(same, "The selection is another one without what the strategy does not name in `needs`.")


# Estimators of the share of anomalies

SHARE, TOLERANCE = 0.2, 0.1  # of anomalies in the examples, and how far off the mean of five estimates may be


def example_evidence(n_rows: int = 60, n_labels: int = 12, seed: int = 0, kind: int | None = None) -> Evidence:
    """A round of answers about two clusters, the smaller one of anomalies. kind: the label that all rows get."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_rows) < SHARE
    x = rng.normal(size=(n_rows, 3)).astype(np.float32) + 4 * truth[:, None].astype(np.float32)
    rows = rng.choice(n_rows, n_labels, replace=False)
    labels = truth[rows].astype(np.int8) if kind is None else np.full(n_labels, kind, np.int8)
    return Evidence(np.linalg.norm(x, axis=1), x, rows, labels)


def _numbers(estimator: ContaminationEstimator, rounds: Sequence[Evidence]) -> Floats:
    found = estimator.estimate(rounds)
    return np.array([found.value, found.low, found.high])


CONTAMINATION_LAWS: Kit[MakeEstimator] = Kit()
check_contamination_estimator = CONTAMINATION_LAWS.check


@CONTAMINATION_LAWS.law
def check_estimates_repeat(make: MakeEstimator) -> None:
    """Equal answers give equal estimates; global seeds and the answers stay."""
    seen = example_evidence()
    require_repeats(make, lambda estimator: _numbers(estimator, [seen]), _arrays(seen))


@CONTAMINATION_LAWS.law
def check_estimate_lies_in_its_interval(make: MakeEstimator) -> None:
    """Finite, at least 0, and within an interval that lies in [0, 1]; an estimate above 1 may lie outside."""
    for n_labels in (1, 12, 60):
        for kind in (None, NORMAL, ANOMALY):
            for seed in range(2):
                value, low, high = _numbers(make(), [example_evidence(60, n_labels, seed, kind)])
                case = f"{n_labels} labels of kind {kind}: {low} <= {value} <= {high}"
                require(np.isfinite([value, low, high]).all(), f"Estimates must be finite. {case}")
                require(0 <= low <= high <= 1 and value >= 0, f"The interval must lie in [0, 1]. {case}")
                inside = value > 1 or low - 1e-9 <= value <= high + 1e-9
                require(inside, f"The estimate must lie in its interval. {case}")


@CONTAMINATION_LAWS.law
def check_order_of_answers_does_not_matter(make: MakeEstimator) -> None:
    """The answers of a round are a set."""
    seen = example_evidence()
    back = replace(seen, rows=seen.rows[::-1], labels=seen.labels[::-1])
    first, second = _numbers(make(), [seen]), _numbers(make(), [back])
    require(np.allclose(first, second, rtol=1e-6), f"The order of the answers changes {first} to {second}.")


@CONTAMINATION_LAWS.law
def check_every_round_counts(make: MakeEstimator) -> None:
    """Anomalies instead of normals raise the estimate, in whichever round they were answered."""
    seen = example_evidence(60, 10, seed=7)

    def estimate(*kinds: int) -> float:
        parts = zip((slice(0, 5), slice(5, 10)), kinds, strict=True)
        rounds = [replace(seen, rows=seen.rows[part], labels=np.full(5, kind, np.int8)) for part, kind in parts]
        return float(make().estimate(rounds).value)

    plain, first, second = estimate(NORMAL, NORMAL), estimate(ANOMALY, NORMAL), estimate(NORMAL, ANOMALY)
    require(first > plain, f"A first round of anomalies must raise the estimate: {plain}, then {first}.")
    require(second > plain, f"A second round of anomalies must raise the estimate: {plain}, then {second}.")


@CONTAMINATION_LAWS.law
def check_separated_clusters_are_counted(make: MakeEstimator) -> None:
    """Where 40 labels show two clusters apart, the mean of five estimates is near the truth."""
    values = np.array([make().estimate([example_evidence(500, 40, seed)]).value for seed in range(5)])
    near = abs(values.mean() - SHARE) < TOLERANCE
    require(near, f"A fifth of the rows are anomalies in a cluster of their own; estimates: {values.round(3)}.")


# Objectives


def _views(objective: Objective) -> list[PoolView]:
    """Labels of both kinds, of one kind, and one label alone; none where the objective sees none."""
    both = example_view(30, n_labelled=6)
    if not objective.uses_labels:
        return [replace(both, labels=np.full(30, UNLABELLED, np.int8))]
    kinds = [replace(both, labels=np.where(both.labels == UNLABELLED, both.labels, kind)) for kind in (NORMAL, ANOMALY)]
    return [both, *kinds, example_view(30, n_labelled=1)]


def _weights(objective: Objective, view: PoolView) -> tuple[ItemWeights | None, UnlabelledWeights]:
    return objective.labelled(view), objective.unlabelled(view)


OBJECTIVE_LAWS: Kit[MakeObjective] = Kit()
check_objective = OBJECTIVE_LAWS.check


@OBJECTIVE_LAWS.law
def check_weights_repeat(make: MakeObjective) -> None:
    """Equal views give equal weights; global seeds and the view stay."""
    for view in _views(make()):
        require_repeats(make, partial(_weights, view=view), _arrays(view))


@OBJECTIVE_LAWS.law
def check_weights_cover_their_rows(make: MakeObjective) -> None:
    """One finite weight of at least 0 for each row on each loss; a rule by ranking gives shares. Something weighs."""
    for number, view in enumerate(_views(make())):
        found = _weights(make(), view)
        for rows, weights in zip((view.labelled, view.unlabelled), found, strict=True):
            if isinstance(weights, RankedWeights):
                shares = [weights.weight, weights.anomaly_share, weights.normal_share]
                inside = all(share is None or 0 <= share <= 1 for share in shares) and weights.scale > 0
                require(inside, f"Shares must lie from 0 to 1 and the scale above 0, got {weights}.")
            for values in () if not isinstance(weights, ItemWeights) else (weights.normal, weights.anomaly):
                require(values.shape == (len(rows),), f"{len(rows)} rows have weights of shape {values.shape}.")
                require(np.isfinite(values).all() and (values >= 0).all(), "Weights must be finite and at least 0.")
        weighs = any(isinstance(w, RankedWeights) or (w is not None and w.normal.any()) for w in found)
        require(number or weighs, "With labels of both kinds no row has a weight: there is nothing to learn.")


@OBJECTIVE_LAWS.law
def check_answers_are_not_contradicted(make: MakeObjective) -> None:
    """A row labelled normal does not weigh on the anomalies' loss, nor one labelled anomaly on the normals'."""
    for view in _views(make()):
        weights, labels = make().labelled(view), view.labels[view.labelled]
        if weights is not None:
            require(not weights.anomaly[labels == NORMAL].any(), "A row labelled normal weighs on L1.")
            require(not weights.normal[labels == ANOMALY].any(), "A row labelled anomaly weighs on L0.")


@OBJECTIVE_LAWS.law
def check_only_what_an_objective_declares_is_looked_at(make: MakeObjective) -> None:
    """Without `uses_labels` labels change nothing, without `needs_embeddings` neither scores nor embeddings do."""
    objective, view, other = make(), example_view(30), example_view(30, n_labelled=6)
    if not objective.uses_labels:
        require(objective.labelled(other) is None, "An objective without labels must leave out the labelled rows.")
        same = equal(objective.unlabelled(view), objective.unlabelled(other))
        require(same, "The objective says that it uses no labels, and labels change its weights.")
    for view in () if objective.needs_embeddings else _views(objective):
        blind = replace(view, scores=np.zeros(len(view)), embeddings=np.zeros((len(view), 1)))
        same = equal(_weights(objective, view), _weights(objective, blind))
        require(same, "The objective looks at scores or embeddings: set `needs_embeddings = True`.")
