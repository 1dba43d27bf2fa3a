"""The engine of one machine: warm-up, look, estimate, learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from soel.backbones import BACKBONES
from soel.backbones.base import Backbone, Members, UserModule
from soel.contamination import ESTIMATORS
from soel.contamination.base import rate_among_unlabelled
from soel.detectors import DETECTORS
from soel.engines.compute import HERE, Compute
from soel.engines.detector import Detector, standardised
from soel.errors import ConfigError
from soel.metrics.calibration import calibrate
from soel.metrics.threshold import ThresholdRule
from soel.objectives import OBJECTIVES
from soel.objectives.base import Objective
from soel.profiles import Profile
from soel.queries.base import Strategy
from soel.training import Model
from soel.training.loop import Task
from soel.types import ANOMALY, UNLABELLED, Estimate, Evidence, Floats, Labels, PoolView, Progress, Rows, Selection

ASSUMED = 0.1  # the share taken for granted when nobody has labelled anything


@dataclass(frozen=True)
class LocalEngine:
    """Computes one detector after a profile. All chance comes from `seed`; nothing is kept between calls.

    backbone: a user's own `n_features -> module`, or None for the profile's.
    contamination: a share the user knows, or None for the profile's estimator.
    compute: where the steps that need every row are taken; all the rest happens on this machine.
    """

    profile: Profile
    seed: int
    threshold: ThresholdRule = field(default_factory=ThresholdRule)
    backbone: UserModule | None = None
    contamination: float | None = None
    compute: Compute = HERE

    def new_model(self, n_features: int, n_members: int | None = None) -> Model:
        """Untrained members (the profile's number), each with a generator of its own."""
        seeds = np.random.SeedSequence(self.seed).spawn(n_members or self.profile.n_members)
        rngs = [np.random.default_rng(seed) for seed in seeds]
        schedule = self.profile.schedule(n_features)
        return Model(self._backbone(n_features, rngs).to(_device(n_features)), rngs, schedule.learning_rate)

    def warm_up(self, pool: Floats, progress: Progress | None = None) -> Detector:
        """Train new members on all rows (N, d) as if normal."""
        model = self.new_model(pool.shape[1])
        self.compute.warm_up(model, pool, self.profile.schedule(pool.shape[1]), progress)
        return self.dressed(model, pool, np.full(len(pool), UNLABELLED, np.int8))

    def dressed(self, model: Model, pool: Floats, labels: Labels, share: float | None = None) -> Detector:
        """A detector from trained members: with its standardisation, and its companion where the profile has one.

        share: of anomalies, as the labels let it be estimated; None before any.

        Without a label the companion speaks alone: a deep score that nobody has corrected takes away from it.
        """
        schedule = self.profile.schedule(pool.shape[1])
        detector = standardised(model, self.compute.losses(model, pool))
        if schedule.companion is not None:
            companion = DETECTORS.get(schedule.companion).fit(pool, labels, self.seed, share)
            weight = schedule.deep_weight if (labels != UNLABELLED).any() else 0.0
            detector = replace(detector, companion=(schedule.companion, companion), deep_weight=weight)
        return replace(detector, pool_scores=self.compute.score(detector, pool))

    def look(self, detector: Detector, pool: Floats, gradient_rate: float | None = None) -> tuple[Floats, Floats]:
        """Scores (N,) and embeddings (N, D): the members' side by side, or the space of the companion."""
        scores = self.compute.score(detector, pool)
        suspected = None if gradient_rate is None else scores > np.quantile(scores, 1 - gradient_rate)
        return scores, self.compute.embed(detector, pool, suspected, self.seed)

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        """What the strategy picks from the view after a look; rows: those of the pool that it shows, None for all."""
        return self.compute.select(strategy, view, n, rng, n_reserve, rows)

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The share of anomalies: given, estimated from the answers, or assumed when there are none."""
        if self.contamination is not None:
            return ESTIMATORS.create("fixed", value=self.contamination).estimate(rounds)  # type: ignore[no-any-return]
        if not any(len(evidence.rows) for evidence in rounds):
            return Estimate(ASSUMED, 0.0, 0.5, "assumed")
        return ESTIMATORS.create(self.profile.contamination).estimate(rounds)  # type: ignore[no-any-return]

    def learn(
        self,
        warm: Detector,
        pool: Floats,
        labels: Labels,
        estimate: Estimate,
        progress: Progress | None = None,
    ) -> Detector:
        """Go on from the warm-up with the labelled and the unlabelled rows, then set the threshold."""
        model = warm.model.copy()
        task = self.task(warm, pool, labels, estimate)
        schedule = self.profile.schedule(pool.shape[1])
        tasks = [task] * model.n_members
        self.compute.fit(model, pool, tasks, schedule, self.objective.always_summed, progress)
        return self.decide(self.dressed(model, pool, labels, estimate.value), labels, estimate)

    def score(self, detector: Detector, x: Floats) -> Floats:
        """Anomaly scores (n,) of encoded rows."""
        return self.compute.score(detector, x)

    def alarms(self, detector: Detector, scores: Floats) -> np.ndarray:
        """Which scores lie above the threshold; none before the first fit."""
        return np.asarray(scores > (np.inf if detector.threshold is None else detector.threshold))

    @cached_property
    def objective(self) -> Objective:
        """The objective of the profile."""
        return OBJECTIVES.create(self.profile.objective, **self.profile.objective_options)  # type: ignore[no-any-return]

    def _backbone(self, n_features: int, rngs: Sequence[np.random.Generator]) -> Backbone:
        if self.backbone is not None:
            return Members(n_features, rngs, self.backbone)
        name, options = self.profile.backbone_for(n_features), dict(self.profile.backbone_options)
        return BACKBONES.create(name, n_features=n_features, rngs=rngs, **options)  # type: ignore[no-any-return]

    def task(self, warm: Detector, pool: Floats, labels: Labels, estimate: Estimate) -> Task:
        """What the members are to learn, from the view of the pool after the warm-up."""
        seen = labels if self.objective.uses_labels else np.full_like(labels, UNLABELLED)
        labelled = np.flatnonzero(seen != UNLABELLED)
        scores, embeddings = self.look(warm, pool) if self.objective.needs_embeddings else (np.zeros(len(pool)),) * 2
        view = PoolView(scores, embeddings, seen, estimate.value)
        on_labelled = self.objective.labelled(view) if len(labelled) else None
        on_unlabelled = self.objective.unlabelled(view) if len(labelled) < len(pool) else None
        if on_labelled is None and on_unlabelled is None:
            raise ConfigError(
                f"The objective {self.profile.objective!r} learns from labels alone, and there are none; "
                "label some items first or choose the objective 'all-normal'."
            )
        return Task(labelled, on_labelled, view.unlabelled, on_unlabelled, self._rate(labels, seen, estimate))

    def _rate(self, labels: Labels, seen: Labels, estimate: Estimate) -> float:
        """alpha-tilde; nothing is suspected where the share is only assumed."""
        if estimate.method == "assumed":
            return 0.0
        n_labelled, n_anomalies = int((seen != UNLABELLED).sum()), int((seen == ANOMALY).sum())
        return rate_among_unlabelled(estimate.value, len(labels), n_labelled, n_anomalies)

    def decide(self, detector: Detector, labels: Labels, estimate: Estimate) -> Detector:
        """Set threshold and probabilities from the pool's scores."""
        scores = detector.pool_scores
        assert scores is not None
        calibration = calibrate(scores, labels, estimate.value)
        cut = self.threshold.cut(scores, estimate.value, calibration.probabilities(scores))
        return replace(detector, estimate=estimate, threshold=cut, calibration=calibration)


def _device(n_features: int) -> Any:
    """A GPU where there is one and the rows are wide enough to need it."""
    return torch.device("cuda" if torch.cuda.is_available() and n_features > 300 else "cpu")
