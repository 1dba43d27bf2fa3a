"""The labelling session: ask, tell, fit, score. It decides what happens next and writes it down first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import ConfigError, LabelError, SessionError, UnknownItemError
from soel.queries import STRATEGIES
from soel.queries.base import Strategy
from soel.session.answers import LABELS, Answer, as_answers
from soel.session.draw import as_draws, check_number, find_candidates, label_vector, round_size, select
from soel.session.files import PoolRecord, load_record, save_record
from soel.session.folder import SessionFolder
from soel.session.ports import Engine, Event, Progress, Store
from soel.session.results import Asked, Fitted, Scored, Status, Told, ranked
from soel.session.rounds import ModelRef, Round
from soel.session.state import SessionState, estimate_body, fold
from soel.types import Evidence, Floats, PoolView

SELF = "soel"


class Session:
    """One folder, one list of events. Nothing is remembered between calls: each reads the events anew.

    make_engine: called on the first step that computes, so that telling and asking for the status
    stay light.
    """

    def __init__(self, folder: Path | SessionFolder, store: Store, make_engine: Callable[[], Engine]) -> None:
        self.folder = folder if isinstance(folder, SessionFolder) else SessionFolder(Path(folder))
        self.config = self.folder.config
        self._store, self._make_engine = store, make_engine

    @property
    def state(self) -> SessionState:
        """Where the session stands."""
        return fold(self._store.read(), self.config.budget)

    @property
    def ids(self) -> tuple[str, ...]:
        """The item ids, in row order."""
        return self.folder.ids

    @cached_property
    def engine(self) -> Engine:
        """What computes."""
        return self._make_engine()

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def ask(self, n: int | None = None, progress: Progress | None = None) -> Asked:
        """The open questions; where there are none, a new round of `n` is drawn and stored first."""
        check_number(n)
        state = self.state
        drawn = not state.open
        if drawn:
            size = round_size(state, len(find_candidates(state, self.ids)), n)
            self._store.append([Event("round", SELF, body=self._draw(state, size, progress).body())])
            state = self.state
        return Asked(len(state.rounds), state.open, drawn)

    def tell(self, answers: Mapping[str, str] | Sequence[Answer], who: str = "expert") -> Told:
        """Store these answers, all or none; they are on disk when this returns.

        An answer that only repeats what holds for an item that is not open is not stored again.
        """
        given = self._checked(as_answers(answers) if isinstance(answers, Mapping) else answers)
        state = self.state
        open_items = set(state.open)
        fresh = [a for a in given if a.item in open_items or not _repeats(state, a)]
        if fresh:
            self._store.append([answer.event(who) for answer in fresh])
        return Told(len(fresh), len(given) - len(fresh))

    def undo(self, who: str = "expert") -> None:
        """Take back the newest answer of this annotator that still stands."""
        if not self.state.undoable.get(who):
            raise SessionError(f"{who!r} has no answer to take back. Name the annotator who told it.")
        self._store.append([Event("undo", who)])

    def fit(self, progress: Progress | None = None) -> Fitted:
        """Estimate the contamination from all rounds, then train anew from the warm-up."""
        state = self.state
        estimate = self.engine.estimate(self.evidence(state))
        self._store.append([Event("estimate", SELF, body=estimate_body(estimate))])
        _, warm = self._warm(state, progress)
        labels = label_vector(state, self.ids)
        model = self.engine.learn(warm, self.folder.pool, labels, estimate, progress)
        place = self.folder.new_model(f"fit-{len(state.rounds):04d}")
        ref = ModelRef(place, self.engine.save(model, self.folder.path / place))
        body = vars(ref) | {"labels": state.labels_digest, "n_labels": len(state.labels)}
        self._store.append([Event("fit", SELF, body=body)])
        return Fitted(ref, estimate, len(state.labels), state.n_anomalies, _note(state))

    def score(self, x: Floats | None = None, ids: Sequence[str] | None = None, rule: str | None = None) -> Scored:
        """Scores, ranks and alarms of new rows (n, d) with their ids, or of the pool, by the last fit."""
        ref = self.state.fit
        if ref is None:
            raise SessionError("There is no fitted model yet; fit before scoring.")
        if (x is None) != (ids is None):
            raise SessionError("New rows and their ids belong together; pass both, or neither for the pool.")
        model = self.engine.load(self.folder.path / ref.model.folder)
        if rule is not None:
            model = self.engine.with_rule(model, self.folder.pool, rule)
        scores = self.engine.score(model, self.folder.pool if x is None else x)
        return ranked(tuple(self.ids if ids is None else ids), scores, self.engine.alarms(model, scores))

    def status(self) -> Status:
        """Where the session stands, in numbers."""
        state, config = self.state, self.config
        return Status(
            session=config.session,
            source=config.source,
            n_items=config.n_items,
            round=len(state.rounds),
            n_open=len(state.open),
            n_labels=len(state.labels),
            n_anomalies=state.n_anomalies,
            n_set_aside=len(state.answers) - len(state.labels),
            budget=config.budget,
            n_left=state.n_left,
            estimate=state.estimate,
            model=None if state.fit is None else state.fit.model,
            fit_is_current=state.fit_is_current,
            next=_next_step(state),
        )

    def evidence(self, state: SessionState | None = None) -> list[Evidence]:
        """The labels of each round that has any, with the pool as that round's model saw it."""
        state = state or self.state
        labels, row_of = state.labels, {item: row for row, item in enumerate(self.ids)}
        evidence = []
        for drawn in state.rounds:
            told = [draw for draw in drawn.draws if state.round_of(draw.item) == drawn.number]
            if told:
                record = self.record(drawn)
                rows = np.array([row_of[draw.item] for draw in told], np.int64)
                codes = np.array([labels[draw.item] for draw in told], np.int8)
                odds = np.array([draw.odds for draw in told])
                evidence.append(Evidence(record.scores, record.embeddings, rows, codes, odds))
        return evidence

    def record(self, drawn: Round) -> PoolRecord:
        """What a round saw of the pool."""
        return load_record(self.folder.rounds / drawn.record, drawn.digest, self.config.n_items)

    def _draw(self, state: SessionState, n: int, progress: Progress | None) -> Round:
        number, settings = len(state.rounds) + 1, self.config.settings
        strategy = STRATEGIES.create(settings["strategy"], **settings["strategy_options"])
        share = self._share(state, strategy)
        ref, model = self._newest(state, progress)
        scores, embeddings = self.engine.look(model, self.folder.pool)
        record = PoolRecord(scores, embeddings)
        if strategy.space == "gradient":
            _, embeddings = self.engine.look(model, self.folder.pool, share)
        view = PoolView(scores, embeddings, label_vector(state, self.ids), share)
        seed = (self.config.seed, number)
        chosen = select(strategy, view, find_candidates(state, self.ids), n, np.random.default_rng(seed))
        draws = as_draws(chosen, record, self.ids)
        name, digest = save_record(self.folder.rounds, number, record)
        return Round(
            number,
            draws[:n],
            draws[n:],
            ref,
            seed,
            settings["strategy"],
            settings["strategy_options"],
            name,
            digest,
        )

    def _share(self, state: SessionState, strategy: Strategy) -> float | None:
        """The share of anomalies for a strategy that needs it: the one given, or the last estimate."""
        if not strategy.needs_contamination:
            return None
        if self.config.contamination is not None:
            return self.config.contamination
        if state.estimate is None:
            raise ConfigError(
                f"The strategy {self.config.settings['strategy']!r} needs the share of anomalies and none "
                "is known before the first fit; start the session with a contamination or another strategy."
            )
        return float(np.clip(state.estimate.value, 0, 0.5))

    def _newest(self, state: SessionState, progress: Progress | None) -> tuple[ModelRef, Any]:
        if state.fit is None:
            return self._warm(state, progress)
        return state.fit.model, self.engine.load(self.folder.path / state.fit.model.folder)

    def _warm(self, state: SessionState, progress: Progress | None) -> tuple[ModelRef, Any]:
        """The warm-up that every fit restarts from; trained once, then read back."""
        if state.warm_up is not None:
            return state.warm_up, self.engine.load(self.folder.path / state.warm_up.folder)
        model = self.engine.warm_up(self.folder.pool, progress)
        place = self.folder.new_model("warm-up")
        ref = ModelRef(place, self.engine.save(model, self.folder.path / place))
        self._store.append([Event("warm-up", SELF, body=vars(ref))])
        return ref, model

    def _checked(self, answers: Sequence[Answer]) -> list[Answer]:
        """These answers once each, after checking that the items exist and that none is answered two ways."""
        known, unique = set(self.ids), dict[str, Answer]()
        unknown = [answer.item for answer in answers if answer.item not in known]
        if unknown:
            shown = ", ".join(repr(item) for item in unknown[:5]) + (" and more" if len(unknown) > 5 else "")
            raise UnknownItemError(f"This session has no item {shown}; nothing was stored. Check the ids.")
        for answer in answers:
            if unique.setdefault(answer.item, answer).verdict != answer.verdict:
                raise LabelError(
                    f"Item {answer.item!r} is called {unique[answer.item].verdict} and {answer.verdict} "
                    "at once; nothing was stored. Keep one of them."
                )
        return list(unique.values())


def _repeats(state: SessionState, answer: Answer) -> bool:
    """Whether this answer only says what is known."""
    held = state.answers.get(answer.item)
    if held is None or held.verdict != answer.verdict:
        return False
    return not answer.note or answer.note == held.note


def _note(state: SessionState) -> str:
    if not state.labels:
        return "Nothing was labelled: the model learned as if all items were normal."
    if state.n_anomalies in (0, len(state.labels)):
        word = next(word for word, code in LABELS.items() if code == (state.n_anomalies > 0))
        return f"All labels say {word}: the estimate of the contamination is rough until both kinds were seen."
    return ""


def _next_step(state: SessionState) -> str:
    if state.open:
        return "tell"
    if state.labels and not state.fit_is_current:
        return "fit"
    return "ask" if state.n_left else "score"
