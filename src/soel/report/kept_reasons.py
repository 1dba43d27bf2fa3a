"""Why a session's items score as they do, kept as a file: a page can then say it without the model, at once."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import SessionError
from soel.explain import Explanation
from soel.explain.summary import find_drivers, find_rule, group_alike
from soel.explain.words import reason_texts, say_reasons, show_cell
from soel.files import write_whole
from soel.report.outcome import FOLDER
from soel.report.reasons import SessionExplainer
from soel.report.session_report import Why
from soel.session import Session, SessionState
from soel.text import percent
from soel.types import Floats, Kind, Rows

N_TOP = 100  # items with the highest scores that are explained
MOST_RESEMBLED = 10_000  # alarms of which it is kept what they are like
N_RULE_COLUMNS = 10  # columns that drive the alarms, of which a rule is made
Kept = dict[str, Any]
NOTHING: Kept = {"items": {}, "resembles": {}, "summary": None}


def keep_reasons(session: Session) -> None:
    """Explain the alarms and the open items by the newest model, and keep it; what is there already stays."""
    kept = explain_session(session)
    if kept["items"] and kept != read_reasons(session):
        write_whole(_place(session, session.state), json.dumps(kept).encode())


def explain_session(session: Session) -> Kept:
    """What was kept, with what is missing: the highest scores of a fit, and the open items."""
    state, kept = session.state, read_reasons(session)
    is_new = state.fit is not None and kept["summary"] is None
    more = [item for item in state.open if item not in kept["items"]]
    model: Any = _newest(session, state) if is_new or more else None
    if getattr(model, "blend", None) is None or session.pool.kind is not Kind.TABLE:
        return kept
    explainer, pool = SessionExplainer.of(session, model), session.pool.rows
    if is_new:
        scores = explainer.table.explainer.pool_scores
        top = np.argsort(-scores, kind="stable")[:N_TOP]
        found = explainer.explain_own(pool, top)
        kept = {
            "items": kept["items"] | _reasons_json(session, top, found),
            "resembles": _resembling(explainer, pool, _alarms_and(top, scores, model.threshold)),
            "summary": _summary(session, explainer, found, top, scores > model.threshold),
        }
    if more:
        row_of = {item: row for row, item in enumerate(session.ids)}
        rows = np.array([row_of[item] for item in more if item in row_of], np.int64)
        found = explainer.explain_own(pool, rows)
        kept = {
            "items": kept["items"] | _reasons_json(session, rows, found),
            "resembles": kept["resembles"] | _resembling(explainer, pool, rows),
            "summary": kept["summary"],
        }
    return kept


def find_why(session: Session) -> Why:
    """The same in sentences, for a report."""
    kept = explain_session(session)
    reasons = {item: say_reasons(reasons) for item, reasons in kept["items"].items()}
    for item, other in kept["resembles"].items():
        if item in reasons and other in session.state.labels:
            reasons[item].append(f"of what is labelled it is most like {other}, {session.state.labels[other].word}")
    summary = kept["summary"]
    return Why(reasons, _say_summary(summary) if summary is not None and summary["n_alarms"] else [])


def read_reasons(session: Session) -> Kept:
    """What was kept for the newest model; nothing where that is nothing."""
    state = session.state
    if state.fit is None and state.warm_up is None:
        return NOTHING
    path = _place(session, state)
    try:
        kept: Kept = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError) as error:
        raise SessionError(f"{path.name} cannot be read ({error}); delete it, and it is made anew.") from error
    return kept


def _newest(session: Session, state: SessionState) -> Any:
    """The model of the last fit, or of before the first label."""
    if state.fit is not None:
        return session.load_fit(state)
    return None if state.warm_up is None else session.engine.load(session.folder.path / state.warm_up.folder)


def _place(session: Session, state: SessionState) -> Path:
    """One file for the newest model and the pool that holds."""
    ref = state.warm_up if state.fit is None else state.fit.model
    assert ref is not None
    seen = "" if state.pool.number == 1 else f"-{state.pool.number}"
    return session.folder.path / FOLDER / f"{ref.fingerprint}{seen}.reasons.json"


def _alarms_and(top: Rows, scores: Floats, threshold: float) -> Rows:
    """The top and all other alarms, the highest first, as far as a page may list them."""
    n_alarms = int((scores > threshold).sum())
    return np.argsort(-scores, kind="stable")[: max(len(top), min(n_alarms, MOST_RESEMBLED))]


def _reasons_json(session: Session, rows: Rows, found: Explanation) -> dict[str, list[Kept]]:
    pairs = zip(rows.tolist(), found.reasons, strict=True)
    return {session.ids[row]: [reason_texts(reason) for reason in reasons] for row, reasons in pairs}


def _summary(session: Session, explainer: SessionExplainer, found: Explanation, top: Rows, alarms: np.ndarray) -> Kept:
    """What the alarms among the top have in common, and how many of all they are."""
    ours = np.flatnonzero(alarms[top])
    shown = found.take(ours)
    drivers = find_drivers(shown) if len(ours) else ()
    names = list(dict.fromkeys(name for driver in drivers for name in driver.columns))[:N_RULE_COLUMNS]
    own = explainer.table.encoder.match(explainer.pool)
    rule = find_rule({name: np.asarray(own[name]) for name in names}, alarms)
    return {
        "n_alarms": int(alarms.sum()),
        "n_explained": len(ours),
        "drivers": [asdict(driver) for driver in drivers],
        "groups": [
            {"columns": group.columns, "items": [session.ids[top[ours[row]]] for row in group.rows]}
            for group in group_alike(shown)
        ],
        "rule": None
        if rule is None
        else asdict(rule)
        | {"conditions": [{**asdict(each), "value": show_cell(each.value)} for each in rule.conditions]},
    }


def _say_summary(summary: Kept) -> list[str]:
    drivers = ", ".join(f"{' + '.join(each['columns'])} {percent(each['share'])}" for each in summary["drivers"][:5])
    groups = ", ".join(f"{' + '.join(each['columns'])} ({len(each['items'])})" for each in summary["groups"])
    lines = [
        f"Of {summary['n_alarms']:,} alarms the highest {summary['n_explained']:,} were looked at.",
        f"Columns that drive them, by their share of what raises the scores: {drivers}.",
    ]
    if groups:
        lines.append(f"Groups of alike alarms, called by their columns: {groups}.")
    rule = summary["rule"]
    if rule is None:
        return [*lines, "No short rule tells them from the other rows."]
    conditions = " and ".join(f"{each['column']} {each['sign']} {each['value']}" for each in rule["conditions"])
    precision, recall = rule["n_hits"] / rule["n_met"], rule["n_hits"] / rule["n_wanted"]
    strength = (
        f"{percent(precision)} of the rows that meet it raise an alarm, and {percent(recall)} of the alarms meet it"
    )
    return [*lines, f"A rule, found on these rows: {conditions}; {strength}."]


def _resembling(explainer: SessionExplainer, features: Floats, rows: Rows) -> dict[str, str]:
    """The labelled item that each of these items is most like; none of what is labelled itself."""
    ids, labels = explainer.session.ids, explainer.session.state.labels
    asked = [row for row in rows.tolist() if ids[row] not in labels]
    alike = explainer.alike(features[asked])
    return {} if alike is None else {ids[row]: other for row, other in zip(asked, alike, strict=True)}
