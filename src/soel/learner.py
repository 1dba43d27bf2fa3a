"""The one loop: prepare a pool, propose questions, learn from the answers.

The estimator, sessions, their replay and the paper's experiments all call it. It is pure: it keeps nothing, touches
no disk, and takes all randomness from the seeds it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from soel import networks
from soel.ask import STRATEGIES, is_sequential
from soel.ask.strategy import Need, Portion, Strategy, plan_draws, spread_over_time, visible_rows
from soel.assess import ESTIMATORS
from soel.assess.calibration import calibrate
from soel.assess.share import leave_out, rate_among_unlabelled
from soel.assess.threshold import EstimatedCount, ThresholdRule
from soel.detect import DETECTORS
from soel.detect.detector import Detector, PlaceDetector
from soel.errors import ConfigError
from soel.model import Blend, Fitted, PatchPart, TrainedNetwork, reference_scores
from soel.networks import BACKBONES
from soel.networks.objectives import OBJECTIVES, Objective, Task
from soel.numeric import single_threaded_blas
from soel.settings import Profile
from soel.types import (
    NO_NAMES,
    NO_ROWS,
    UNLABELLED,
    Estimate,
    Evidence,
    Floats,
    Labels,
    Named,
    Pool,
    PoolView,
    Progress,
    Proposal,
    Rows,
    Selection,
)

if TYPE_CHECKING:
    from soel.networks import Model
    from soel.networks.base import Backbone, UserModule

ASSUMED = 0.1  # share of anomalies without a label
RESERVE = 2  # items that can step in for each one asked, where items can be skipped
PATCH_WEIGHT = 4.0  # of patches beside whole pictures, in spreads of the latter's scores (benchmarks/choices.md)
SCORED_AGAIN = 1000  # rows of a large pool that are scored anew after each answer
LEARNS_NAMES = "pretrained"  # the detector that heeds which columns experts named
GPU_WIDTH = 300  # narrower rows are computed faster without a GPU
NO_SCORES: Floats = np.zeros(0)


@dataclass(frozen=True)
class Learner:
    """Learns one detector after a settled profile. All chance comes from seeds; nothing is kept between calls.

    backbone: a user's own `n_features -> module`, or None for the profile's.
    contamination: a share the user knows, or None for the profile's estimator.
    """

    profile: Profile
    seed: int
    threshold: ThresholdRule = field(default_factory=EstimatedCount)
    backbone: UserModule | None = None
    contamination: float | None = None

    def prepare(self, pool: Pool, progress: Progress | None = None) -> Blend:
        """What is known before the first label: a network is trained only where it is used."""
        return self.warm(pool, self.new_network(pool, progress) if self.starts_with_network else None, progress)

    def propose(
        self,
        model: Blend,
        pool: Pool,
        labels: Labels,
        n: int,
        *,
        share: float | None = None,
        aside: Rows = NO_ROWS,
        first: Rows = NO_ROWS,
        last: Rows = NO_ROWS,
        for_record: bool = False,
        seed: Sequence[int] | None = None,
        seen: tuple[Floats, Floats] | None = None,
    ) -> Proposal:
        """`n` rows worth a label, by the model that knows most.

        share: of anomalies, for strategies that need it where the user knows none.
        aside: rows that are not asked. first: rows that are asked before all others, however few they are. last: rows
        that are asked only when too few others are left. What cannot be drawn is not shown to the strategy, so that
        its odds are those of the rows that could be.
        for_record: with a reserve that can step in for what is skipped, and with the pool's scores and embeddings.
        seed: None for the rule: the learner's seed, and how many labels are known.
        seen: scores and embeddings of the pool by this model, where they are known: they are not computed again.
        """
        seed = (self.seed, int((labels != UNLABELLED).sum())) if seed is None else tuple(seed)
        n_reserve = RESERVE * n if for_record else 0
        share = share if self.contamination is None else self.contamination
        rows = visible_rows(labels, n, aside, last)
        shown = labels if rows is None else labels[rows]
        self.check_budget(shown, n, n_reserve, share)
        scores, embeddings, looked_at = self._look(model, pool, share, for_record, seen)
        view, rng = PoolView(scores, looked_at, labels, share), np.random.default_rng(seed)
        selection = Selection(NO_ROWS, NO_SCORES)
        for portion in plan_draws(labels, n, n_reserve, aside, first, last):
            chosen = self._draw(model, pool, view, portion, rng, known=np.union1d(view.labelled, selection.rows))
            selection = selection.then(chosen)
        return Proposal(selection, seed, scores, embeddings) if for_record else Proposal(selection, seed)

    def check_budget(self, labels: Labels, n: int, n_reserve: int = 0, share: float | None = None) -> None:
        """Refuse `n` questions that cannot be asked of rows with these labels (N,)."""
        share = share if self.contamination is None else self.contamination
        self.strategy.check(PoolView(NO_SCORES, np.zeros((0, 0)), labels, share), n, n_reserve)

    def learn(
        self, warm: Blend, pool: Pool, rounds: Sequence[Evidence], labels: Labels, progress: Progress | None = None
    ) -> Fitted:
        """Estimate the share from all answers, go on from the warm-up with all rows, then set the threshold."""
        estimate = self.estimate(rounds)
        if not self.uses_network(labels):
            return self.finish(None, pool, labels, estimate, progress)
        model = (warm.network or self.new_network(pool)).model.copy()
        tasks = [self.task(warm, pool, labels, estimate)] * model.n_members
        networks.fit(model, pool.rows, tasks, self.profile.schedule, self.objective.always_summed, progress)
        return self.finish(model, pool, labels, estimate, progress)

    def look(self, model: Blend, pool: Pool) -> tuple[Floats, Floats]:
        """Scores (N,) and embeddings (N, D) of the pool."""
        return self._scores(model, pool), model.embed(pool.rows)

    def evidence(self, model: Blend, pool: Pool, labels: Labels) -> list[Evidence]:
        """Labels that were not drawn in rounds, as one round, with the pool as it is now."""
        rows = np.flatnonzero(labels != UNLABELLED)
        if not len(rows):
            return []
        is_read = self.contamination is None and ESTIMATORS.get(self.profile.contamination).reads_scores
        scores = self._scores(model, pool) if is_read else np.zeros(len(pool))
        return [Evidence(scores, model.embed(pool.rows), rows, labels[rows])]

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The share of anomalies: given, estimated from the answers, or assumed when there are none."""
        if self.contamination is not None:
            return ESTIMATORS.create("fixed", value=self.contamination).estimate(rounds)  # type: ignore[no-any-return]
        if not any(len(evidence.rows) for evidence in rounds):
            return Estimate(ASSUMED, 0.0, 0.5, "assumed")
        return ESTIMATORS.create(self.profile.contamination).estimate(rounds)  # type: ignore[no-any-return]

    def finish(
        self, model: Model | None, pool: Pool, labels: Labels, estimate: Estimate, progress: Progress | None = None
    ) -> Fitted:
        """A fitted model around trained members (None: the detector alone): the pool is scored once by each part."""
        detector = self._fit_detector(pool.rows, labels, estimate.value, pool.named)
        weight = self.profile.schedule.deep_weight
        by_detector = None if detector is None else detector.score(pool.rows)
        if model is None:
            assert by_detector is not None  # a blend has one of them at least
            return self._decide(Blend(detector), by_detector, pool, labels, estimate, progress)
        raw = networks.losses(model, pool.rows)[0]
        network = TrainedNetwork.measured(model, raw)
        deep = network.combine(raw)
        scores = deep if by_detector is None else np.asarray(by_detector + weight * deep)
        return self._decide(Blend(detector, network, weight), scores, pool, labels, estimate, progress)

    def with_rule(self, fitted: Fitted, pool: Pool, rule: ThresholdRule) -> Fitted:
        """The same model with its threshold set by another rule over the pool."""
        scores = self._scores(fitted, pool)
        probabilities = fitted.calibration.probabilities(scores)
        labels = fitted.pool_labels[pool.fair] if len(fitted.pool_labels) == len(scores) else None
        cut = rule.cut(scores[pool.fair], fitted.estimate.value, probabilities[pool.fair], fitted.reference, labels)
        return replace(fitted, threshold=cut, pool_scores=scores)

    def new_model(self, n_features: int, n_members: int | None = None) -> Model:
        """Untrained members (the profile's number), each with a generator of its own."""
        seeds = np.random.SeedSequence(self.seed).spawn(n_members or self.profile.n_members)
        rngs = [np.random.default_rng(seed) for seed in seeds]
        from soel.deep import torch  # here: a detector alone has no need of it

        on_gpu = torch.cuda.is_available() and n_features > GPU_WIDTH
        backbone = self._new_backbone(n_features, rngs).to(torch.device("cuda" if on_gpu else "cpu"))
        return networks.Model(backbone, rngs, self.profile.schedule.learning_rate)

    def new_network(self, pool: Pool, progress: Progress | None = None) -> TrainedNetwork:
        """New members, trained on all rows as if normal."""
        model = self.new_model(pool.n_features)
        networks.warm_up(model, pool.rows, self.profile.schedule, progress)
        return TrainedNetwork.measured(model, networks.losses(model, pool.rows)[0])

    def warm(self, pool: Pool, network: TrainedNetwork | None, progress: Progress | None = None) -> Blend:
        """Before any label the detector scores alone: a network without labels would make it worse."""
        unlabelled = np.full(len(pool), UNLABELLED, np.int8)
        detector = self._fit_detector(pool.rows, unlabelled, None)
        blend = Blend(detector, network, 1.0 if detector is None else 0.0)
        unit = 1.0 if pool.patches is None else float(blend.score(pool.rows).std())
        return replace(blend, patches=self._fit_patches(pool, unlabelled, None, unit, progress))

    @property
    def starts_with_network(self) -> bool:
        """Whether a network is needed before the first label."""
        return self.profile.schedule.detector is None or Need.GRADIENTS in self.strategy.needs

    def uses_network(self, labels: Labels) -> bool:
        """Whether a network that learns from these labels adds to the score."""
        if self.profile.schedule.detector is None:
            return True
        return self.profile.schedule.deep_weight != 0 and bool((labels != UNLABELLED).any())

    @property
    def is_sequential(self) -> bool:
        """Whether each question knows the last answer: the strategy wants it, and a detector can learn it at once."""
        return is_sequential(self.profile)

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy of the profile."""
        return STRATEGIES.create(self.profile.strategy, **self.profile.strategy_options)  # type: ignore[no-any-return]

    @cached_property
    def objective(self) -> Objective:
        """The objective of the profile."""
        return OBJECTIVES.create(self.profile.objective, **self.profile.objective_options)  # type: ignore[no-any-return]

    def task(self, warm: Blend, pool: Pool, labels: Labels, estimate: Estimate) -> Task:
        """What the members are to learn, from the view of the pool after the warm-up."""
        seen = labels if self.objective.uses_labels else np.full_like(labels, UNLABELLED)
        labelled = np.flatnonzero(seen != UNLABELLED)
        scores: Floats = np.zeros(len(pool))
        embeddings = scores
        if self.objective.needs_embeddings:
            scores, embeddings = self.look(warm, pool)
        view = PoolView(scores, embeddings, seen, estimate.value)
        on_labelled = self.objective.labelled(view) if len(labelled) else None
        on_unlabelled = self.objective.unlabelled(view) if len(labelled) < len(pool) else None
        if on_labelled is None and on_unlabelled is None:
            raise ConfigError(
                f"The objective {self.profile.objective!r} learns from labels alone, and there are none; "
                "label some items first or choose the objective 'all-normal'."
            )
        return Task(labelled, on_labelled, view.unlabelled, on_unlabelled, rate_among_unlabelled(estimate, seen))

    def _look(
        self, model: Blend, pool: Pool, share: float | None, for_record: bool, seen: tuple[Floats, Floats] | None
    ) -> tuple[Floats, Floats, Floats]:
        """Scores, embeddings, and what takes their place for the strategy; empty where nothing reads them."""
        needs = self.strategy.needs
        scores, embeddings = seen or (np.zeros(0), np.zeros((len(pool), 0)))
        if seen is None and (for_record or ({Need.SCORES, Need.GRADIENTS} & needs and not self.is_sequential)):
            scores = self._scores(model, pool)
        if seen is None and (for_record or Need.EMBEDDINGS in needs):
            embeddings = model.embed(pool.rows)
        if Need.GRADIENTS not in needs:
            return scores, embeddings, embeddings
        assert share is not None  # those strategies need it, which was checked
        network = model.network or self.new_network(pool)
        suspected = scores > np.quantile(scores, 1 - share)
        return scores, embeddings, networks.gradient_embeddings(network.model, pool.rows, suspected, self.seed)

    def _draw(
        self, model: Blend, pool: Pool, view: PoolView, portion: Portion, rng: np.random.Generator, known: Rows
    ) -> Selection:
        """What the strategy picks of a portion of the pool. known: rows that are labelled, or chosen already."""
        rows, labels, share = portion.rows, view.labels, view.contamination
        if self.is_sequential:
            with single_threaded_blas():  # blocks are shared by threads; those of the matrix library would only wait
                n_wanted = portion.n + portion.n_reserve
                rows, query_scores = self._query_scores(model, pool, labels, share, rows, n_wanted, view.scores)
            view = PoolView(query_scores, view.embeddings[rows], labels[rows], share)
        elif rows is not None:
            scores = view.scores[rows] if len(view.scores) else view.scores
            view = PoolView(scores, view.embeddings[rows], labels[rows], share)
        chosen = self.strategy.select(view, portion.n, rng, portion.n_reserve)
        selection = chosen if rows is None else Selection(rows[chosen.rows], chosen.odds)
        return selection if pool.moments is None else spread_over_time(selection, pool.moments, known)

    def _query_scores(
        self,
        model: Blend,
        pool: Pool,
        labels: Labels,
        share: float | None,
        rows: Rows | None,
        n_wanted: int,
        scores: Floats,
    ) -> tuple[Rows, Floats]:
        """Rows to choose among, all labelled ones with them, and their scores by a detector that knows the labels.

        Where pictures have patches, what these say is added; each answer teaches them, and they are not fitted again.
        n_wanted: how many without a label there must be, if rows has so many. scores: (N,) of the pool by the model,
        where they are known.
        """
        rows = np.arange(len(pool)) if rows is None else rows
        before = detector = model.detector
        if (labels != UNLABELLED).any():
            detector = self._fit_detector(pool.rows, labels, share)
        assert before is not None  # sequential strategies need one
        assert detector is not None
        looks = model.patches is not None
        if model.patches is not None:
            scores = np.array(scores if len(scores) else self._scores(model, pool))
            worst, gain = model.patches.detector.gain(labels)
            scores[worst] += model.patches.weight * gain
        if len(rows) > SCORED_AGAIN:
            rough = scores[rows] if looks else detector.rough_score(pool.rows[rows])
            rank = rough.argsort(kind="stable")[::-1]
            is_free = labels[rows] == UNLABELLED
            keep = ~is_free
            keep[rank[: SCORED_AGAIN // 2]] = True
            known = detector.find_known(pool.rows[rows])
            # and some of every height: those that are quick to have, if there are any
            keep[known if len(known) else rank[SCORED_AGAIN // 2 :: -(-2 * len(rows) // SCORED_AGAIN)]] = True
            keep[rank[is_free[rank]][:n_wanted]] = True
            rows = rows[keep]
        query_scores = detector.query_score(pool.rows[rows])
        return rows, query_scores + scores[rows] - before.score(pool.rows[rows]) if looks else query_scores

    def _scores(self, model: Blend, pool: Pool) -> Floats:
        """Scores (N,) of the pool: those that a fit has kept, or computed."""
        kept = model.pool_scores if isinstance(model, Fitted) else np.zeros(0)
        if len(kept):
            return kept
        return _add_patches(model, replace(model, patches=None).score(pool.rows), pool)

    def _fit_detector(
        self, rows: Floats, labels: Labels, share: float | None, named: Named = NO_NAMES
    ) -> Detector | None:
        schedule = self.profile.schedule
        if schedule.detector is None:
            return None
        given = (rows, labels, self.seed, share, schedule.detector_options)
        part: type[Detector] = DETECTORS.get(schedule.detector)
        return part.fit(*given, *([named] if schedule.detector == LEARNS_NAMES else []))

    def _fit_patches(
        self, pool: Pool, labels: Labels, share: float | None, unit: float, progress: Progress | None
    ) -> PatchPart | None:
        """What patches add, where the pool has them. unit: the spread of the scores that they are added to."""
        name = self.profile.schedule.patch_detector
        if name is None or pool.patches is None:
            return None
        part: type[PlaceDetector] = DETECTORS.get(name)
        detector = part.fit(pool.patches, labels, self.seed, share, marked=pool.marked, progress=progress)
        return PatchPart(detector, unit * PATCH_WEIGHT)

    def _decide(
        self,
        blend: Blend,
        scores: Floats,
        pool: Pool,
        labels: Labels,
        estimate: Estimate,
        progress: Progress | None,
    ) -> Fitted:
        """The fitted model. scores: (N,) of the pool by its rows; what patches add comes here."""
        patches = self._fit_patches(pool, labels, estimate.value, float(scores.std()), progress)
        blend = replace(blend, patches=patches)
        scores = _add_patches(blend, scores, pool)
        fair, estimate = pool.fair, leave_out(estimate, labels, ~pool.fair)
        calibration = calibrate(scores[fair], labels[fair], estimate.value, chances=blend.chances())
        chances = calibration.probabilities(scores)
        suspected = None if estimate.method == "assumed" else chances
        refit = partial(self._fit_detector, share=estimate.value)
        reference = reference_scores(blend, scores, pool, labels, suspected, refit, self.seed)
        cut = self.threshold.cut(scores[fair], estimate.value, chances[fair], reference, labels[fair])
        return Fitted(
            **vars(blend),
            estimate=estimate,
            threshold=cut,
            calibration=calibration,
            pool_scores=scores,
            pool_labels=labels.copy(),
            reference=reference,
        )

    def _new_backbone(self, n_features: int, rngs: Sequence[np.random.Generator]) -> Backbone:
        if self.backbone is not None:
            from soel.networks.base import Members  # here: it loads torch

            return Members(n_features, rngs, self.backbone, **self.profile.backbone_options)
        options = dict(self.profile.backbone_options)
        return BACKBONES.create(self.profile.backbone, n_features=n_features, rngs=rngs, **options)  # type: ignore[no-any-return]


def _add_patches(blend: Blend, scores: Floats, pool: Pool) -> Floats:
    """The pool's scores (N,) by rows, with what its patches add."""
    if blend.patches is None or pool.patches is None:
        return scores
    return blend.patches.add(scores, blend.patches.detector.score(pool.patches))
