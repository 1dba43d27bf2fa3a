"""The computing steps of a session as functions of what was known: a session takes them, a replay repeats them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soel.errors import ConfigError
from soel.queries import STRATEGIES
from soel.queries.base import Strategy
from soel.session.config import SessionConfig
from soel.session.draw import as_draws, find_candidates, label_vector, rows_of, select
from soel.session.files import PoolRecord
from soel.session.folder import SessionFolder
from soel.session.ports import Engine
from soel.session.rounds import Draw, Round
from soel.session.state import SessionState
from soel.types import Evidence, PoolView


def round_seed(config: SessionConfig, number: int) -> tuple[int, int]:
    """What the chance of a round starts from."""
    return config.seed, number


def draw(
    place: SessionFolder, engine: Engine, model: Any, state: SessionState, n: int
) -> tuple[tuple[Draw, ...], PoolRecord]:
    """The next round's items and reserve in order, and the pool as the model sees it."""
    settings = place.config.settings
    strategy = STRATEGIES.create(settings["strategy"], **settings["strategy_options"])
    share = share_for(strategy, place.config, state)
    scores, embeddings = engine.look(model, place.pool)
    record = PoolRecord(scores, embeddings)
    if strategy.space == "gradient":
        _, embeddings = engine.look(model, place.pool, share)
    view = PoolView(scores, embeddings, label_vector(state, place.ids), share)
    rng = np.random.default_rng(round_seed(place.config, len(state.rounds) + 1))
    chosen = select(engine, strategy, view, find_candidates(state, place.ids), n, rng)
    return as_draws(chosen, record, place.ids), record


def share_for(strategy: Strategy, config: SessionConfig, state: SessionState) -> float | None:
    """The share of anomalies for a strategy that needs it: the one given, or the last estimate."""
    if not strategy.needs_contamination:
        return None
    if config.contamination is not None:
        return config.contamination
    if state.estimate is None:
        raise ConfigError(
            f"The strategy {config.settings['strategy']!r} needs the share of anomalies and none "
            "is known before the first fit; start the session with a contamination or another strategy."
        )
    return float(np.clip(state.estimate.value, 0, 0.5))


def gather_evidence(
    state: SessionState, ids: Sequence[str], record_of: Callable[[Round], PoolRecord]
) -> list[Evidence]:
    """The labels of each round that has any, with the pool as that round's model saw it."""
    labels, row_of = state.labels, rows_of(ids, state.labels)
    evidence = []
    for drawn in state.rounds:
        told = [each for each in drawn.draws if state.round_of(each.item) == drawn.number]
        if told:
            record = record_of(drawn)
            rows = np.array([row_of[each.item] for each in told], np.int64)
            codes = np.array([labels[each.item] for each in told], np.int8)
            odds = np.array([each.odds for each in told])
            evidence.append(Evidence(record.scores, record.embeddings, rows, codes, odds))
    return evidence
