"""Repeats what a session computed, from its data, seed and events, and says what comes out differently."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import SoelError
from soel.session.draw import as_draws, find_candidates, label_vector
from soel.session.events import Event
from soel.session.fold import fold
from soel.session.propose import NOT_SURE, gather_evidence, items_held, propose
from soel.session.rounds import Draw, PoolRecord, Round, read_round
from soel.session.session import Session
from soel.session.spot_check import STRATEGY, propose_check
from soel.session.state import SessionState, estimate_body
from soel.types import Evidence, Progress


@dataclass(frozen=True)
class Step:
    """One step that was repeated. number: of its event. difference: in words, empty where there is none."""

    number: int
    what: str
    difference: str


def replay(session: Session, progress: Progress | None = None) -> tuple[Step, ...]:
    """Repeat the warm-up, every round, every estimate and every fit, in order.

    Each step goes on from the repeated ones before it, so a difference shows in all that follow from it.
    """
    return tuple(_Replay(session, progress).steps())


class _Replay:
    """What was repeated so far. models: by folder. records: the pool as each round's model saw it."""

    def __init__(self, session: Session, progress: Progress | None) -> None:
        self._session, self._engine, self._progress = session, session.engine, progress
        self._loop, self._path, self._events = session.engine.loop, session.folder.path, session.events
        self._models: dict[str, Any] = {}
        self._records: dict[str, PoolRecord] = {}  # by the name of the file
        self._warm: dict[int, Any] = {}  # by the number of the pool

    def steps(self) -> list[Step]:
        found = []
        kept = {part.event for drawn in self._session.state.rounds for part in drawn.parts}
        for event in self._events:
            if event.kind == "warm-up" and len(self._known_at(event).pools) not in self._warm:
                found.append(Step(event.number, "warm-up", self._warm_up(event)))
            elif event.kind in ("round", "refine") and event.number in kept:
                found.append(Step(event.number, _name(event), self._round(event)))
            elif event.kind == "estimate":
                found.append(Step(event.number, "estimate", self._estimate(event)))
            elif event.kind == "fit":
                found.append(Step(event.number, f"fit {event.body['folder']}", self._fit(event)))
        return found

    def _warm_up(self, event: Event) -> str:
        return self._compare_model(event, self._warm_for(self._known_at(event)))

    def _round(self, event: Event) -> str:
        stored = read_round(event.body)
        model = self._models[stored.model.folder]
        state, n = self._known_at(event), len(stored.asked)
        place = self._session.folder_with(state.pools)
        pool = self._session.pool_in(place)
        if state.fit is not None and state.fit.pool != state.pool.number:
            model = replace(model, pool_scores=np.zeros(0))  # as the session loads it
        if stored.strategy == STRATEGY:
            scores, embeddings = self._loop.look(model, pool)
            fresh = find_candidates(state, place.ids).fresh
            proposal = propose_check(scores, embeddings, model.threshold, fresh, n, stored.seed)
        else:
            held = items_held(state, stored.at) if stored.at else ()
            seen = self._records.get(stored.record) if stored.at else None
            proposal = propose(
                place, self._loop, model, pool, state, n, stored.seed, held, seen, NOT_SURE in stored.options
            )
        record = PoolRecord(proposal.scores, np.asarray(proposal.embeddings, np.float32))  # as it is written
        self._records.setdefault(stored.record, record)
        return _compare_draws(stored.proposed, as_draws(proposal, place.ids))

    def _estimate(self, event: Event) -> str:
        again = estimate_body(self._loop.estimate(self._evidence_at(event)))
        differing = [name for name, value in again.items() if event.body.get(name) != value]
        parts = (f"{name} was {event.body.get(name)} and is {again[name]}" for name in differing)
        return "; ".join(parts)

    def _fit(self, event: Event) -> str:
        state = self._known_at(event)
        place, warm = self._session.folder_with(state.pools), self._warm_for(state)
        labels, pool = label_vector(state, place.ids), self._session.pool_in(place, state)
        model = self._loop.learn(warm, pool, self._evidence_at(event), labels, self._progress)
        difference = self._compare_model(event, model)
        if event.body.get("labels") != state.labels_digest:
            difference = f"it learned from other labels than the events give; {difference}".rstrip("; ")
        return difference

    def _warm_for(self, state: SessionState) -> Any:
        """The warm-up of the pool that held then; made here for a fit of a release that did not store one."""
        number = state.pool.number
        if number not in self._warm:
            pool = self._session.pool_in(self._session.folder_with(state.pools))
            self._warm[number] = self._loop.prepare(pool, self._progress)
        return self._warm[number]

    def _known_at(self, event: Event) -> SessionState:
        """The state that the step saw: answers may have come in while it ran."""
        after = event.body.get("after")
        seen = event.number - 1 if after is None else int(after)
        config = self._session.config
        return fold(self._events[:seen], config.budget, config.answers_per_item)

    def _evidence_at(self, event: Event) -> list[Evidence]:
        state = self._known_at(event)
        return gather_evidence(
            state, lambda drawn: self._session.folder_with(state.pools_of(drawn)).ids, self._record_of
        )

    def _record_of(self, drawn: Round) -> PoolRecord:
        return self._records[drawn.record]

    def _compare_model(self, event: Event, model: Any) -> str:
        self._models[event.body["folder"]] = model
        with tempfile.TemporaryDirectory() as scratch:
            fingerprint = self._engine.save(model, Path(scratch) / "model")
        if fingerprint == event.body["fingerprint"]:
            return ""
        difference = self._compare_stored(event, model)
        if not difference:  # the same model, in files of another release's form
            return ""
        return f"the fingerprint was {event.body['fingerprint']} and is {fingerprint}; {difference}"

    def _compare_stored(self, event: Event, model: Any) -> str:
        """What the stored model says otherwise than the repeated one: scores of the pool, and what is made of them."""
        try:
            stored = self._engine.load(self._path / event.body["folder"])
        except SoelError as error:
            return f"the stored model cannot be loaded ({error})"
        if type(stored) is not type(model):
            return "the stored model is of another kind"
        place = self._session.folder_with(self._known_at(event).pools)
        before, after = (each.score(place.pool, place.patches) for each in (stored, model))
        gap = float(np.abs(before - after).max())
        parts = [f"scores of the pool differ by up to {gap:.3g}"] if gap else []
        for name in ("estimate", "threshold", "calibration"):
            old, new = (_as_text(getattr(each, name, None)) for each in (stored, model))
            parts += [f"the {name} was {old} and is {new}"] if old != new else []
        return "; ".join(parts)


def _as_text(value: Any) -> str:
    """A number or record as a model's file holds it."""
    return json.dumps(asdict(value) if is_dataclass(value) and not isinstance(value, type) else value, sort_keys=True)


def _name(event: Event) -> str:
    return f"round {event.body['round']}" if event.kind == "round" else f"refine of round {event.body['round']}"


def _compare_draws(stored: Sequence[Draw], again: Sequence[Draw]) -> str:
    pairs = list(zip(stored, again, strict=False))
    place = next((i for i, (old, new) in enumerate(pairs, start=1) if old.item != new.item), None)
    if place is not None:
        old, new = pairs[place - 1]
        return f"item {place} was {old.item!r} and is {new.item!r}"
    if len(stored) != len(again):
        return f"{len(stored)} items were drawn and now {len(again)}"
    gaps = {
        "odds": max((abs(old.odds - new.odds) for old, new in pairs), default=0.0),
        "scores": max((abs(old.score - new.score) for old, new in pairs), default=0.0),
    }
    return "; ".join(f"{name} differ by up to {gap:.3g}" for name, gap in gaps.items() if gap)
