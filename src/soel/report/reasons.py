"""Why a session's items are alarms, kept beside the model for the page and the report."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import ConfigError, SessionError
from soel.explain import Explainer, Explanation, RowExplanation
from soel.explain.patterns import find_in_common
from soel.files import parse_json, write_whole
from soel.numeric import nearest_of
from soel.report.outcome import kept_path
from soel.session import Session
from soel.session.item_tables import read_encoder, read_items
from soel.session.rounds import label_vector, rows_of
from soel.types import Floats, Kind, Rows

N_TOP = 100  # items with the highest scores that are kept with reasons
MOST_RESEMBLED = 10_000  # alarms of which it is kept what they are like
SHARE_ASKED = 0.5  # of the pool: an asked item among these is told from ordinary ones, even where it is no alarm
Kept = dict[str, Any]
NOTHING: Kept = {"items": {}, "resembles": {}, "patterns": None}


def make_explainer(session: Session, model: Any, share: float = 0.0) -> Explainer:
    """Explains rows of a session's table. model: of its last fit, or of the warm-up. share: of the pool
    that is to be told from ordinary rows, where fewer are alarms.
    """
    if session.pool.kind is not Kind.TABLE:
        raise ConfigError("Rows are explained by the columns of a table, and this session has none; ask for no why.")
    frame, features = read_items(session.folder).frame, session.folder.pool
    kept = getattr(model, "pool_scores", ())
    scores = np.asarray(kept if len(kept) else model.score(features))
    labels, threshold = label_vector(session.state, session.ids), getattr(model, "threshold", np.inf)
    if share:
        threshold = min(threshold, float(np.quantile(scores, 1 - share)))
    encoder = read_encoder(session.folder)
    return Explainer(model, encoder, frame, features, scores, labels, threshold, session.ids)


def find_alike(session: Session, model: Any, features: Floats) -> list[str | None]:
    """The labelled item of the session that each row (n, d) resembles most; None where nothing is labelled."""
    row_of = rows_of(session.ids, session.state.labels)
    if not row_of or not len(features):
        return [None] * len(features)
    known, labelled = session.folder.pool[[*row_of.values()]], [*row_of]
    owner, _ = nearest_of(model.embed(features), model.embed(known))
    return [labelled[at] for at in owner.tolist()]


def keep_reasons(session: Session) -> None:
    """Explain the alarms and the open items by the newest model, and keep it; what is there already stays."""
    kept, place = explain_session(session), _place(session)
    if kept["items"] and place is not None and kept != read_reasons(session):
        write_whole(place, json.dumps(kept).encode())


def explain_session(session: Session) -> Kept:
    """What was kept, with what is missing: the highest scores of a fit, and the open items."""
    state, kept = session.state, read_reasons(session)
    is_new = state.fit is not None and kept["patterns"] is None
    more = [item for item in state.open if item not in kept["items"]]
    if not (is_new or more) or session.pool.kind is not Kind.TABLE or _place(session) is None:
        return kept
    if state.fit is not None:
        model: Any = session.load_fit(state)
    else:
        assert state.warm_up is not None
        model = session.load_model(state.warm_up)
    kept = {name: dict(kept[name]) for name in ("items", "resembles")} | {"patterns": kept["patterns"]}
    frame, features = read_items(session.folder).frame, session.folder.pool

    def keep(explainer: Explainer, rows: Rows, resembling: Rows) -> Explanation:
        found = explainer.explain(frame.take(rows), features[rows])
        kept["items"] |= {session.ids[row]: each.to_json() for row, each in zip(rows.tolist(), found, strict=True)}
        asked = [row for row in resembling.tolist() if session.ids[row] not in state.labels]
        alike = zip(asked, find_alike(session, model, features[asked]), strict=True)
        kept["resembles"] |= {session.ids[row]: other for row, other in alike if other is not None}
        return found

    if is_new:
        explainer, scores = make_explainer(session, model), np.asarray(model.pool_scores)
        order, is_alarm = np.argsort(-scores, kind="stable"), scores > explainer.line
        top, n_alarms = order[:N_TOP], int(is_alarm.sum())
        found = keep(explainer, top, order[: max(N_TOP, min(n_alarms, MOST_RESEMBLED))])
        alarms = replace(found, rows=tuple(compress(found, is_alarm[top])))
        cells, rows = explainer.encoder.match(frame), top[is_alarm[top]]
        kept["patterns"] = find_in_common(alarms, rows, session.ids, cells) | {"n_alarms": n_alarms}
    row_of = rows_of(session.ids, more)
    rows = np.array([row_of[item] for item in more if item in row_of and item not in kept["items"]], np.int64)
    if len(rows):
        keep(make_explainer(session, model, SHARE_ASKED), rows, rows)
    return kept


def read_reasons(session: Session) -> Kept:
    """What was kept for the newest model; nothing where that is nothing."""
    path = _place(session)
    if path is None or not path.exists():
        return NOTHING
    try:
        kept: Kept = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SessionError(f"{path.name} cannot be read ({error}); delete it, and it is made anew.") from error
    return kept


def find_why(kept: Kept, item: str) -> RowExplanation | None:
    """The explanation of one item, where it was kept."""
    return RowExplanation.from_json(kept["items"][item]) if item in kept["items"] else None


def _place(session: Session) -> Path | None:
    """Where it is kept; None without a model."""
    ref = session.state.newest_model
    return None if ref is None else kept_path(session, ref, ".reasons.json")
