"""Everything that is compared: how it asks, what it trains on, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from soel import ConfigError, Profile
from soel.types import Kind

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """A row of a comparison. None takes the profile's part; options are added to those of the profile.

    given_share: the method is told the true share of anomalies plus this; None: it has to estimate.
    n_rounds: the budget is spent in so many rounds, with a fit between them.
    clean: trained on the pool's normal rows alone, to see what contamination costs.
    peer: another detector instead of ours, see `peers`. all_labels: it is told the label of every row of the pool.
    augmented: learns from augmented pictures, see `fixmatch`.
    """

    name: str
    strategy: str | None = None
    objective: str | None = None
    backbone: str | None = None
    contamination: str | None = None
    strategy_options: Options = field(default_factory=dict)
    objective_options: Options = field(default_factory=dict)
    given_share: float | None = None
    n_rounds: int = 1
    asks: bool = True
    clean: bool = False
    peer: str | None = None
    peer_options: Options = field(default_factory=dict)
    augmented: bool = False
    all_labels: bool = False

    def on_pixels(self, profile: Profile) -> bool:
        """Whether it learns on pictures themselves rather than on rows."""
        return self.peer is None and self.apply_to(profile).kind_for(Kind.VECTORS) is Kind.PICTURES

    def apply_to(self, profile: Profile) -> Profile:
        """The profile with this method's parts."""
        changed = profile.with_parts(
            strategy=self.strategy,
            objective=self.objective,
            backbone=self.backbone,
            contamination=self.contamination,
        )
        return replace(
            changed,
            strategy_options={**changed.strategy_options, **self.strategy_options},
            objective_options={**changed.objective_options, **self.objective_options},
        )


SOEL = Method("SOEL")
NINE = (
    Method("Mar", "margin", "one-class"),
    Method("Hybr1", "margin-diverse", "one-class"),
    Method("Pos1", "positive", "supervised"),
    Method("Pos2", "positive", "one-class"),
    Method("Rand1", "random", "one-class"),
    Method("Rand2", "positive-random", "one-class"),
    Method("Hybr2", "positive-diverse", "supervised"),
    Method("Hybr3", "positive-diverse", "refinement"),
    SOEL,
)
UNSUPERVISED = Method("no labels", objective="all-normal", asks=False)
LOE = Method("LOE", objective="loe-soft", asks=False, given_share=0.0)
QUERY_ONLY = Method("queries alone", "diverse", "supervised")
TRUE_SHARE = Method("SOEL with true share", given_share=0.0)
SEQUENTIAL = Method("SOEL in rounds of 20", n_rounds=-20)
GRADIENT = Method("gradient diversity", "gradient-diverse")
CLASSIFIER = Method("binary classifier", backbone="classifier")
NEIGHBOUR_LABELS = Method("nearest-neighbour labels", objective="neighbour-labels")
PROCESS_LABELS = Method("Gaussian-process labels", objective="gaussian-process-labels")
DEEP_SVDD = tuple(replace(m, name=f"{m.name} on Deep SVDD", backbone="deep-svdd") for m in (SOEL, NINE[1], NINE[6]))
MHROT = tuple(
    replace(m, name=f"{m.name} on MHRot", backbone="mhrot") for m in (SOEL, NINE[1], NINE[6], LOE, QUERY_ONLY)
)
FIXMATCH = (
    Method("FixMatch", "random", "supervised", augmented=True),
    Method("FixMatch after diverse queries", "diverse", "supervised", augmented=True),
)
CLEAN = Method("NTL", objective="all-normal", asks=False, clean=True)


def by_strategy(objective: str | None) -> tuple[Method, ...]:
    """The same training after each of the strategies that the paper compares."""
    strategies = ("diverse", "margin", "positive", "random", "margin-diverse", "positive-random", "positive-diverse")
    return tuple(Method(strategy, strategy, objective) for strategy in strategies)


def knn(k: int) -> Method:
    """The distance to the k-th neighbour in the pool, no labels."""
    return Method(f"kNN k={k}", peer="knn", peer_options={"k": k}, asks=False)


PEERS = (
    Method("isolation forest", peer="isolation-forest", asks=False),
    Method("LOF", peer="lof", asks=False),
    Method("one-class SVM", peer="one-class-svm", asks=False),
    knn(10),
    Method("PyOD Deep SVDD", peer="pyod-deep-svdd", asks=False),
    Method("DeepOD NeuTraL", peer="deepod-neutral", asks=False),
    Method("DeepOD Deep SAD", peer="deepod-deep-sad", strategy="diverse"),
    Method("all labels known", peer="supervised", asks=False, all_labels=True),
)


def choose_methods(methods: tuple[Method, ...], names: tuple[str, ...]) -> tuple[Method, ...]:
    """Those of the methods that were named; all when none was."""
    known = {method.name.lower(): method for method in methods}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ConfigError(
            f"There is no method called {unknown[0]!r} here. Choose among: {', '.join(m.name for m in methods)}."
        )
    return tuple(known[name.lower()] for name in names) or methods
