"""The laws of a contamination estimator. A part is what makes one: a class, or any callable without arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from soel.assess.share import ContaminationEstimator
from soel.testing.laws import Law, check_all, laws_of, leaving_alone, require
from soel.types import ANOMALY, NORMAL, Estimate, Evidence

MakeEstimator = Callable[[], ContaminationEstimator]
SHARE, TOLERANCE = 0.2, 0.1  # of anomalies in the examples, and how far off the mean of five estimates may be


def check_contamination_estimator(make: MakeEstimator) -> None:
    """Hold an estimator against every law."""
    check_all(CONTAMINATION_LAWS, make)


def example_evidence(n_rows: int = 60, n_labels: int = 12, seed: int = 0, kind: int | None = None) -> Evidence:
    """A round of answers about two clusters, the smaller one of anomalies. kind: the label that all rows get."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_rows) < SHARE
    x = rng.normal(size=(n_rows, 3)).astype(np.float32) + 4 * truth[:, None].astype(np.float32)
    rows = rng.choice(n_rows, n_labels, replace=False)
    labels = truth[rows].astype(np.int8) if kind is None else np.full(n_labels, kind, np.int8)
    return Evidence(np.linalg.norm(x, axis=1), x, rows, labels)


def check_estimate_lies_in_its_interval(make: MakeEstimator) -> None:
    """Finite, at least 0, and within an interval that lies in [0, 1]; an estimate above 1 may lie outside."""
    for n_labels in (1, 12, 60):
        for kind in (None, NORMAL, ANOMALY):
            for seed in range(2):
                found = make().estimate([example_evidence(60, n_labels, seed, kind)])
                case = f"{n_labels} labels of kind {kind}: {found.low} <= {found.value} <= {found.high}"
                require(np.isfinite([found.value, found.low, found.high]).all(), f"Estimates must be finite. {case}")
                require(0 <= found.low <= found.high <= 1, f"The interval must lie in [0, 1]. {case}")
                require(found.value >= 0, f"A share is at least 0. {case}")
                require(
                    found.value > 1 or found.low - 1e-9 <= found.value <= found.high + 1e-9,
                    f"The estimate must lie in its interval. {case}",
                )


def check_evidence_is_not_changed(make: MakeEstimator) -> None:
    """The rounds belong to the caller."""
    seen = example_evidence()
    with leaving_alone(
        "The estimator", scores=seen.scores, embeddings=seen.embeddings, rows=seen.rows, labels=seen.labels
    ):
        make().estimate([seen])


def check_estimating_is_idempotent(make: MakeEstimator) -> None:
    """Equal rounds give equal estimates, from the same estimator and from a new one."""
    estimator, rounds = make(), [example_evidence()]
    first = estimator.estimate(rounds)
    for again in (estimator.estimate(rounds), make().estimate(rounds)):
        require(_numbers(again) == _numbers(first), f"The same rounds gave {_numbers(first)}, then {_numbers(again)}.")


def check_order_of_answers_does_not_matter(make: MakeEstimator) -> None:
    """The answers of a round are a set."""
    seen = example_evidence()
    back = replace(seen, rows=seen.rows[::-1], labels=seen.labels[::-1])
    first, second = make().estimate([seen]), make().estimate([back])
    require(
        np.allclose(_numbers(first), _numbers(second), rtol=1e-6),
        f"The order of the answers changes the estimate: {_numbers(first)} and {_numbers(second)}.",
    )


def check_every_round_counts(make: MakeEstimator) -> None:
    """Anomalies instead of normals raise the estimate, in whichever round they were answered."""
    first, second = _two_rounds()
    plain = make().estimate([_label_all(first, NORMAL), _label_all(second, NORMAL)])
    for name, rounds in (
        ("first", [_label_all(first, ANOMALY), _label_all(second, NORMAL)]),
        ("second", [_label_all(first, NORMAL), _label_all(second, ANOMALY)]),
    ):
        found = make().estimate(rounds)
        require(
            found.value > plain.value,
            f"A {name} round of anomalies must raise the estimate: {plain.value} without, {found.value} with.",
        )


def check_separated_clusters_are_counted(make: MakeEstimator) -> None:
    """Where 40 labels show two clusters apart, the mean of five estimates is near the truth."""
    values = [make().estimate([example_evidence(500, 40, seed)]).value for seed in range(5)]
    require(
        abs(np.mean(values) - SHARE) < TOLERANCE,
        f"A fifth of the rows are anomalies in a cluster of their own; the estimates are {np.round(values, 3)}.",
    )


CONTAMINATION_LAWS: tuple[Law[MakeEstimator], ...] = laws_of(__name__, but=check_contamination_estimator)


def _two_rounds() -> tuple[Evidence, Evidence]:
    """Two rounds of five about the same pool, from all over it."""
    seen = example_evidence(60, 10, seed=7)
    return tuple(replace(seen, rows=seen.rows[part], labels=seen.labels[part]) for part in (slice(0, 5), slice(5, 10)))  # type: ignore[return-value]


def _label_all(seen: Evidence, kind: int) -> Evidence:
    return replace(seen, labels=np.full(len(seen.rows), kind, np.int8))


def _numbers(found: Estimate) -> Sequence[float]:
    return found.value, found.low, found.high
