"""The laws of an objective. A part is what makes one: a class, or any callable without arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from soel.networks.objectives import Objective, UnlabelledWeights
from soel.testing.laws import Law, check_all, equal, example_view, laws_of, leaving_alone, require
from soel.types import ANOMALY, NORMAL, UNLABELLED, ItemWeights, PoolView, RankedWeights

MakeObjective = Callable[[], Objective]


def check_objective(make: MakeObjective) -> None:
    """Hold an objective against every law."""
    check_all(OBJECTIVE_LAWS, make)


def check_weights_cover_their_rows(make: MakeObjective) -> None:
    """One finite weight of at least 0 for each row, on each of the two losses."""
    for view in _views(make()):
        for part, rows in (("labelled", view.labelled), ("unlabelled", view.unlabelled)):
            weights = _weights(make(), part, view)
            if not isinstance(weights, ItemWeights):
                continue
            for values in (weights.normal, weights.anomaly):
                require(
                    values.shape == (len(rows),),
                    f"`{part}` must weigh its {len(rows)} rows one by one, got weights of shape {values.shape}.",
                )
                require(
                    np.isfinite(values).all() and (values >= 0).all(),
                    f"Weights must be finite and at least 0; `{part}` has {values.min()} to {values.max()}.",
                )


def check_something_is_learnt(make: MakeObjective) -> None:
    """With labels of both kinds some row weighs something."""
    view = next(iter(_views(make())))
    found = [_weights(make(), part, view) for part in ("labelled", "unlabelled")]
    require(
        any(isinstance(each, RankedWeights) or (each is not None and each.normal.any()) for each in found),
        "With labels of both kinds no row has a weight: there is nothing to learn.",
    )


def check_ranked_weights_are_shares(make: MakeObjective) -> None:
    """A rule by ranking gives shares from 0 to 1 and a scale above 0."""
    for view in _views(make()):
        rule = make().unlabelled(view)
        if isinstance(rule, RankedWeights):
            shares = [rule.weight, rule.anomaly_share, rule.normal_share]
            require(
                all(share is None or 0 <= share <= 1 for share in shares), f"Shares must lie from 0 to 1, got {rule}."
            )
            require(rule.scale > 0, f"The scale must lie above 0, got {rule.scale}.")


def check_answers_are_not_contradicted(make: MakeObjective) -> None:
    """A row labelled normal does not weigh on the anomalies' loss, nor one labelled anomaly on the normals'."""
    for view in _views(make()):
        weights = make().labelled(view)
        if weights is not None:
            labels = view.labels[view.labelled]
            require(not weights.anomaly[labels == NORMAL].any(), "A row labelled normal weighs on L1.")
            require(not weights.normal[labels == ANOMALY].any(), "A row labelled anomaly weighs on L0.")


def check_labels_are_used_only_where_declared(make: MakeObjective) -> None:
    """With `uses_labels = False` the labelled part is left out, and labels change nothing."""
    objective = make()
    if objective.uses_labels:
        return
    view = example_view(30)
    other = example_view(30, n_labelled=6)
    require(objective.labelled(other) is None, "An objective without labels must leave out the labelled rows.")
    require(
        equal(objective.unlabelled(view), objective.unlabelled(other)),
        "The objective says that it uses no labels, and labels change its weights.",
    )


def check_embeddings_are_used_only_where_declared(make: MakeObjective) -> None:
    """Without `needs_embeddings` scores and embeddings change nothing: the loop does not compute them then."""
    if make().needs_embeddings:
        return
    for view in _views(make()):
        blind = replace(view, scores=np.zeros(len(view)), embeddings=np.zeros((len(view), 1)))
        for part in ("labelled", "unlabelled"):
            require(
                equal(_weights(make(), part, view), _weights(make(), part, blind)),
                f"`{part}` looks at scores or embeddings: set `needs_embeddings = True`.",
            )


def check_weighing_is_idempotent(make: MakeObjective) -> None:
    """Equal views give equal weights, from the same objective and from a new one."""
    for view in _views(make()):
        objective = make()
        for part in ("labelled", "unlabelled"):
            first = _weights(objective, part, view)
            for again in (_weights(objective, part, view), _weights(make(), part, view)):
                require(equal(first, again), f"`{part}` must give the same weights for the same view.")


def check_view_is_not_changed(make: MakeObjective) -> None:
    """The view belongs to the caller."""
    for view in _views(make()):
        with leaving_alone("The objective", scores=view.scores, embeddings=view.embeddings, labels=view.labels):
            for part in ("labelled", "unlabelled"):
                _weights(make(), part, view)


OBJECTIVE_LAWS: tuple[Law[MakeObjective], ...] = laws_of(__name__, but=check_objective)


def _views(objective: Objective) -> list[PoolView]:
    """Labels of both kinds, of one kind, and one label alone; none where the objective sees none."""
    both = example_view(30, n_labelled=6)
    if not objective.uses_labels:
        return [replace(both, labels=np.full(30, UNLABELLED, np.int8))]
    kinds = [replace(both, labels=np.where(both.labels == UNLABELLED, both.labels, kind)) for kind in (NORMAL, ANOMALY)]
    return [both, *kinds, example_view(30, n_labelled=1)]


def _weights(objective: Objective, part: str, view: PoolView) -> UnlabelledWeights:
    return objective.labelled(view) if part == "labelled" else objective.unlabelled(view)
