"""Answers to alarms: kept rows that were answered join the pool, and the next fit learns from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from soel.session.alarms import kept_inputs, read_kept
from soel.session.config import NewPool, PoolRef
from soel.session.events import Answer
from soel.session.folder import SessionFolder
from soel.session.growth import change_pool
from soel.session.labels import grow_budget
from soel.session.session import Session
from soel.session.standing import TellResult
from soel.session.state import SessionState
from soel.tables.rows import write_parquet


def record_feedback(session: Session, answers: Sequence[tuple[str, Answer]]) -> TellResult:
    """Store what people say of items of the pool and of alarms, all or none; it is on disk when this returns.

    answers: each with who said it. The budget is for questions, so it grows by what nobody was asked.
    """
    before = session.state
    told = session.take_in([answer.event(who) for who, answer in answers])
    grow_budget(session, before)
    return told


def adopt_answered(session: Session, who: str = "owner") -> PoolRef | None:
    """Let answered alarms join the pool, and rows that were sampled by chance replace its oldest unlabelled ones.

    Returns the pool that has them; None without any.
    """
    place, state = session.folder, session.state
    table = read_kept(place, kept_inputs(place, state), ["alarm_id", "sampled", "cells", "features"])
    rows = [] if table is None else table.to_pylist()
    known = set(session.ids)
    if all(row["alarm_id"] not in state.labels or row["alarm_id"] in known for row in rows):
        return None
    return change_pool(session, who, lambda state, now: _renew(state, now, rows))


def _renew(state: SessionState, place: SessionFolder, rows: list[dict[str, Any]]) -> NewPool:
    """The pool with new labelled and sampled rows at its end, and no more unlabelled ones than it began with."""
    known = set(place.ids)
    fresh = [
        row for row in rows if row["alarm_id"] not in known and (row["sampled"] or row["alarm_id"] in state.labels)
    ]
    n_unlabelled = sum(row["alarm_id"] not in state.labels for row in fresh)
    free = np.array([item not in state.answers for item in place.ids])
    n_gone = max(0, int(free.sum()) + n_unlabelled - place.config.n_items)
    keep = np.ones(len(place.ids), bool)
    keep[np.flatnonzero(free)[:n_gone]] = False  # new rows stand at the end, so the first are the oldest
    gone = [item for item, stays in zip(place.ids, keep.tolist(), strict=True) if not stays]
    ids, number = [row["alarm_id"] for row in fresh], len(place.pools) + 1
    cells = [json.loads(row["cells"]) for row in fresh]
    id_column = place.config.id_column
    names = list(dict.fromkeys(name for each in cells for name in each))
    columns = {name: [each.get(name) for each in cells] for name in names}
    if id_column is not None:
        columns[id_column] = ids
    features = np.array([row["features"] for row in fresh], np.float32).reshape(len(fresh), place.pool.shape[1])
    origin = np.stack([np.full(len(fresh), number), np.arange(len(fresh))], axis=1)
    ref = PoolRef(what="add", data="watched rows", n_added=len(ids), n_removed=len(gone))
    return NewPool(
        [*(item for item in place.ids if item not in set(gone)), *ids],
        np.concatenate([place.pool[keep], features]),
        np.concatenate([place.rows[keep], origin]),
        ref,
        removed=gone,
        write=lambda folder: write_parquet(folder / "source.parquet", columns),
    )
