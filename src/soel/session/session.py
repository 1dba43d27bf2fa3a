"""The labelling session: ask, tell, fit, score. It decides what happens next and writes it down first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from soel.ask import is_sequential
from soel.assess.conformal import UnsureBand
from soel.assess.quality import Quality, draw_check
from soel.assess.threshold import parse_threshold
from soel.errors import DamagedError, ModelFileError, SessionError
from soel.records import body_of
from soel.scoring.score import Scorer, Scores
from soel.session.alarms import find_selected
from soel.session.config import SessionConfig
from soel.session.events import SELF, Event, Store
from soel.session.folder import SessionFolder
from soel.session.item_tables import read_encoder
from soel.session.labelling import Labelling
from soel.session.people import Agreement, as_text, measure_agreement
from soel.session.pool_records import (
    PoolGeometry,
    PoolRecord,
    StoppingAdvice,
    Why,
    gather_evidence,
    load_record,
    measure_advice,
    pool_of,
    save_record,
)
from soel.session.rounds import (
    AHEAD,
    NOT_SURE,
    SPOT_CHECK,
    USUAL_CHECK,
    Draw,
    ModelRef,
    Round,
    can_refine,
    check_number,
    describe_check,
    find_candidates,
    find_record,
    items_held,
    label_vector,
    round_size,
    rows_of,
)
from soel.session.standing import AskResult, FitResult, Status, measure_quality
from soel.session.state import Comparison, Fit, NamedEffect, SessionState
from soel.settings import Profile
from soel.types import NO_ROWS, Estimate, Evidence, Floats, Pool, Progress, Proposal

if TYPE_CHECKING:
    from soel.learner import Learner
    from soel.model import Blend, Fitted

MOST_MODELS = 2  # that are kept in memory: a warm-up and a fit


class Session(Labelling):
    """The whole session: what annotators do, and what is computed for them.

    What computes is imported on the first step that does, so that telling and asking for the status stay light.
    """

    def __init__(self, folder: Path | SessionFolder, store: Store) -> None:
        super().__init__(folder, store)
        self._models: dict[str, Blend] = {}
        self._geometry: PoolGeometry | None = None
        self._seen: tuple[str, PoolRecord] | None = None  # what the last refine looked at, and its name

    @cached_property
    def learner(self) -> Learner:
        """What computes."""
        return make_learner(self.config)

    def load_model(self, ref: ModelRef) -> Blend:
        """A model of this session, read once."""
        from soel.model_folder import load_model  # here: it takes a second, which labelling must not wait for

        if ref.folder not in self._models:
            loaded = load_model(self._place.path / ref.folder, encoder=read_encoder(self._place)).model
            while len(self._models) >= MOST_MODELS:
                del self._models[next(iter(self._models))]
            self._models[ref.folder] = loaded
        return self._models[ref.folder]

    def _save_model(self, place: SessionFolder, name: str, model: Blend) -> ModelRef:
        from soel.model_folder import SavedModel, save_model

        folder, saved = place.new_model(name), SavedModel(self.learner, model, read_encoder(place))
        return ModelRef(folder, save_model(place.path / folder, saved))

    def ask(self, n: int | None = None, progress: Progress | None = None, not_sure: bool = False) -> AskResult:
        """The open questions; where there are none, a new round of `n` is drawn and stored first.

        not_sure: those that the last fit is not sure of first, then others where they are too few.
        """
        check_number(n)
        state = self.state
        if not_sure and state.fit is None:
            raise SessionError("Items that the model is not sure of are known after a fit; run `soel fit` first.")
        drawn = not state.open
        while not state.open:  # again only where the pool was changed while the round was drawn
            size = round_size(state, len(find_candidates(state, self.folder_with(state.pools).ids)), n)
            ref, model = self._newest(state, progress)
            new = self._keep(state, size, ref, self._propose(state, size, model, not_sure), not_sure)
            self._append([Event("round", SELF, body=body_of(new))])
            state = self.state
        return AskResult(len(state.rounds), state.open, drawn)

    def refine(self, progress: Progress | None = None, now: datetime | None = None) -> AskResult | None:
        """Put better questions before those of the open round that are not leased, knowing the answers given since.

        None where nothing changes: nothing was said since, or the strategy is not sequential.
        """
        state = self.state
        if not self.is_sequential or not can_refine(state):
            return None
        part = self._draw_more(state, as_text(now or datetime.now(UTC)), progress)
        if part is None:
            return None
        self._append([Event("refine", SELF, body=body_of(part))])
        state = self.state
        return AskResult(len(state.rounds), state.open, False)

    @property
    def title(self) -> str:
        """What the session is called: by its owner, else after its data."""
        return self.state.name or self.config.origin

    @cached_property
    def is_sequential(self) -> bool:
        """Whether a question can know the last answer: what the session's strategy and detector allow."""
        return is_sequential(Profile.from_json(self.config.settings))

    def spot_check(self, n: int | None = None, progress: Progress | None = None) -> AskResult:
        """The open items of a spot check; where nothing is open, one of `n` is drawn from what was not asked."""
        check_number(n)
        state = self.state
        drawn = not state.open
        while not state.open:  # again only where the pool was changed while it was drawn
            fresh = find_candidates(state, self.folder_with(state.pools).ids).fresh
            size = round_size(state, len(fresh), n or min(USUAL_CHECK, state.n_left))
            self._append([Event("round", SELF, body=body_of(self._draw_check(state, size)))])
            state = self.state
        if state.round is not None and state.round.strategy != SPOT_CHECK:
            raise SessionError(f"Round {state.round.number} is still open; answer it, then check the result.")
        return AskResult(len(state.rounds), state.open, drawn)

    def quality(self) -> Quality | None:
        """What the newest spot check proves of the pool and of the alarms; None without one that was answered."""
        return measure_quality(self.state)

    @property
    def pool(self) -> Pool:
        """The rows of all items, as the loop knows them."""
        return pool_of(self.folder)

    def fit(self, progress: Progress | None = None, comparison: Comparison | None = None) -> FitResult:
        """Estimate the contamination from all rounds, then train anew from the warm-up.

        comparison: of a candidate with the model that scores, which stays until the candidate is promoted.
        """
        state = self.state
        place = self.folder_with(state.pools)
        _, warm = self._warm(state, progress)
        labels, pool = label_vector(state, place.ids), pool_of(place, state)
        told = self.evidence(state)
        if pool.selected is not None:  # rounds of an earlier pool do not know what joined it
            told = self.learner.evidence(warm, pool, labels)
        model = self.learner.learn(warm, pool, told, labels, progress)
        ref = self._save_model(place, f"fit-{len(state.rounds):04d}", model)
        known, advice = state.last_event, self._measure_advice(state, model)
        found = model.pool_scores, model.threshold, model.detector
        effect = NamedEffect.of(*found, pool.rows, len(state.named)) if state.named else None
        n_labels = len(rows_of(place.ids, state.labels))  # alarms that were answered a moment ago are not in the pool
        fit = Fit(ref, state.labels_digest, n_labels, model.figures, known, advice, comparison, effect)
        estimate = Event("estimate", SELF, body={"estimate": body_of(model.estimate), "after": known})
        self._append([estimate, Event("fit", SELF, body=body_of(fit))])
        return FitResult.of(ref, model.estimate, state, effect)

    def promote(self, number: int, who: str = "owner") -> None:
        """Let the fit of this number, from 1, score from now on: a candidate, or an earlier one to go back to."""
        if not 1 <= number <= len(self.state.fits):
            raise SessionError(f"There is no model {number}; there are {len(self.state.fits)}. See `soel models DIR`.")
        self._append([Event("promote", who, body={"fit": number})])

    def score(self, x: Floats | None = None, ids: Sequence[str] | None = None, rule: str | None = None) -> Scores:
        """Scores, ranks and alarms of new rows (n, d) with their ids, or of the pool, by the last fit."""
        if (x is None) != (ids is None):
            raise SessionError("New rows and their ids belong together; pass both, or neither for the pool.")
        scorer = self.scorer(rule)
        scores = scorer.pool_scores if x is None else scorer.score(x)
        return scorer.judge(tuple(self.ids if ids is None else ids), scores)

    def scorer(self, rule: str | None = None) -> Scorer:
        """The model of the last fit, with its threshold set by another rule where one is given."""
        ref, model = self.fitted()
        used = parse_threshold(rule or self.config.threshold)
        if rule is not None and used.count(0) is None:  # 'alarms=20' counts in what is scored
            model = self.learner.with_rule(model, self.pool, used)
        return Scorer(model, ref.fingerprint, self.pool_scores(model), used, find_selected(self.folder, self.state))

    def pool_scores(self, model: Fitted) -> Floats:
        """Scores (N,) of the pool: kept with the model, or computed where the pool has changed since."""
        return model.pool_scores if len(model.pool_scores) else model.score(self.folder.pool, self.folder.patches)

    def fitted(self) -> tuple[ModelRef, Fitted]:
        """The model of the last fit."""
        state = self.state
        if state.fit is None:
            raise SessionError(f"{self.folder.path} has no fitted model yet; fit before scoring.")
        return state.fit.model, self.load_fit(state)

    def load_fit(self, state: SessionState) -> Fitted:
        """The model of the last fit. It does not remember the scores of a pool that holds no more."""
        assert state.fit is not None
        model = cast("Fitted", self.load_model(state.fit.model))
        return model if state.fit.pool == state.pool.number else replace(model, pool_scores=np.zeros(0))

    def status(self) -> Status:
        """Where the session stands, in numbers."""
        state = self.state
        return Status.of(state, self.folder_with(state.pools))

    def why(self, item: str) -> Why:
        """Why this item was asked about: its distance, its score and its neighbours when it was drawn."""
        self._check_items([item])
        state = self.state
        drawn = state.part_of(item) or state.newest_part(item)
        if drawn is None:
            raise SessionError(f"Item {item!r} was never drawn, so there is nothing to explain; ask first.")
        if (kept := self._geometry) is None or not kept.is_of(drawn, state):
            ids = self.folder_with(state.pools_of(drawn)).ids
            if not {each.item for each in drawn.proposed} <= set(ids):
                raise DamagedError(f"{self.folder.path} lacks items that it asked about; `soel check` says why.")
            kept = self._geometry = PoolGeometry(drawn, state, ids, self.record(drawn, state))
        return kept.explain(item)

    def stopping_advice(self) -> StoppingAdvice | None:
        """Whether more labels would still change much, as measured at the last fit; None before one."""
        fit = self.state.fit
        return None if fit is None else fit.advice

    def agreement(self) -> Agreement:
        """How far annotators agree beyond chance."""
        return measure_agreement(self.state)

    def evidence(self, state: SessionState | None = None, among: Collection[str] | None = None) -> list[Evidence]:
        """The labels of each round that has any (among these items), with the pool as that round's model saw it."""
        known = state or self.state
        return gather_evidence(
            known,
            lambda drawn: self.folder_with(known.pools_of(drawn)).ids,
            lambda drawn: self.record(drawn, known),
            among,
        )

    def record(self, drawn: Round, state: SessionState | None = None) -> PoolRecord:
        """What a round saw of the pool."""
        place = self.folder_with((state or self.state).pools_of(drawn))
        return load_record(place.rounds / drawn.record, drawn.digest, place.n_items)

    def _draw_more(self, state: SessionState, at: str, progress: Progress | None) -> Round | None:
        """A refine of the round that is open; None where it would show the same items in the same order."""
        held = items_held(state, at)
        free = [item for item in state.open if item not in held and item not in state.answers]
        if not free or state.round is None:
            return None
        n, not_sure = min(AHEAD, len(free)), NOT_SURE in state.round.options
        ref, model = self._newest(state, progress)
        proposal = self._propose(state, n, model, not_sure, held, self._look_again(state, state.round, ref))
        ids = self.folder_with(state.pools).ids
        if [ids[row] for row in proposal.rows[:n]] == free[:n]:
            return None
        part = self._keep(state, n, ref, proposal, not_sure, state.round)
        self._seen = (part.record, PoolRecord(proposal.scores, np.asarray(proposal.embeddings, np.float32)))
        return replace(part, looked_at=at)

    def _propose(
        self,
        state: SessionState,
        n: int,
        model: Blend,
        not_sure: bool,
        held: Collection[str] = (),
        seen: PoolRecord | None = None,
    ) -> Proposal:
        """The next round's rows with their reserve, and the pool as the model sees it.

        not_sure: items that the model is not sure of are asked first, however few they are. held: items that
        are leased or assigned, for a refine. seen: what the same model saw of the pool before.
        """
        place = self.folder_with(state.pools)
        candidates, pool, first = find_candidates(state, place.ids), pool_of(place), NO_ROWS
        if not_sure:
            estimate = cast("Fitted", model).estimate
            scores = self.learner.look(model, pool)[0] if seen is None else seen.scores
            first = np.flatnonzero(UnsureBand.of(scores, estimate.low, estimate.high).holds(scores))
        looked_at = np.array(list(rows_of(place.ids, held).values()), np.int64)
        return self.learner.propose(
            model,
            pool,
            label_vector(state, place.ids),
            n,
            share=None if state.estimate is None else float(np.clip(state.estimate.value, 0, 0.5)),
            aside=np.concatenate([candidates.aside, looked_at]),
            first=first,
            last=candidates.returning,
            for_record=True,
            seen=None if seen is None else (seen.scores, seen.embeddings),
        )

    def _look_again(self, state: SessionState, drawn: Round, ref: ModelRef) -> PoolRecord | None:
        """What the newest model saw of the pool, where a part of the round has kept that."""
        known = find_record(state, drawn)
        if known is None or known.model != ref:
            return None
        if self._seen is None or self._seen[0] != known.record:
            self._seen = known.record, self.record(known, state)
        return self._seen[1]

    def _draw_check(self, state: SessionState, n: int) -> Round:
        """A spot check of `n` items, with the pool as the model sees it."""
        (ref, model), place = self.fitted(), self.folder_with(state.pools)
        scores, embeddings = self.learner.look(model, pool_of(place))
        seed = (self.config.seed, len(state.labels), len(state.rounds))
        fresh, cut = find_candidates(state, place.ids).fresh, model.threshold
        selection = draw_check(scores > cut, fresh, n, np.random.default_rng(seed))
        facts = describe_check(scores, model.probabilities(scores), cut, state, rows_of(place.ids, state.labels))
        drawn = self._keep(state, n, ref, Proposal(selection, seed, scores, embeddings), not_sure=False)
        return replace(drawn, strategy=SPOT_CHECK, options={}, check=facts)

    def _keep(
        self,
        state: SessionState,
        n: int,
        ref: ModelRef,
        proposal: Proposal,
        not_sure: bool,
        refines: Round | None = None,
    ) -> Round:
        """The round of a proposal, or a refine of one, with the pool as it was seen on disk."""
        place, settings, chosen = self.folder_with(state.pools), self.config.settings, proposal.selection
        draws = tuple(
            Draw(place.ids[row], float(odds), float(proposal.scores[row]))
            for row, odds in zip(chosen.rows, chosen.odds, strict=True)
        )
        number = len(state.rounds) + 1 if refines is None else refines.number
        known = None if refines is None else find_record(state, refines)
        if known is not None:
            name, digest = known.record, known.digest
        else:
            name, digest = save_record(place.rounds, number, PoolRecord(proposal.scores, proposal.embeddings))
        strategy, options = settings["strategy"], settings["strategy_options"] | ({NOT_SURE: True} if not_sure else {})
        seed, after = proposal.seed, state.last_event
        return Round(number, draws[:n], draws[n:], ref, seed, strategy, options, name, digest, after)

    def _measure_advice(self, state: SessionState, model: Fitted) -> StoppingAdvice | None:
        ids, scores = self.folder_with(state.pools).ids, model.pool_scores

        def estimate(items: Collection[str]) -> Estimate:
            return self.learner.estimate(self.evidence(state, items))

        return measure_advice(state, ids, lambda drawn: self.record(drawn, state), scores, model.estimate, estimate)

    def _newest(self, state: SessionState, progress: Progress | None) -> tuple[ModelRef, Blend]:
        if state.fit is None:
            return self._warm(state, progress)
        return state.fit.model, self.load_fit(state)

    def _warm(self, state: SessionState, progress: Progress | None) -> tuple[ModelRef, Blend]:
        """The warm-up that every fit restarts from: read back, or made (again, where its folder is lost or damaged)."""
        if state.warm_up is not None:
            with suppress(ModelFileError):  # it follows from the data and the seed alone
                return state.warm_up, self.load_model(state.warm_up)
        place = self.folder_with(state.pools)
        model = self.learner.prepare(pool_of(place), progress)
        ref = self._save_model(place, "warm-up", model)
        self._append([Event("warm-up", SELF, body={"model": body_of(ref), "after": state.last_event})])
        return ref, model


def make_learner(config: SessionConfig) -> Learner:
    """The learner for a session's settings."""
    from soel.learner import Learner

    profile, rule = Profile.from_json(config.settings), parse_threshold(config.threshold)
    return Learner(profile, config.seed, rule, contamination=config.contamination)
