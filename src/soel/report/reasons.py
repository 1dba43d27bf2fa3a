"""Why a session's items are alarms: as columns of a file, and kept beside the model for the page and the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.errors import ConfigError, SessionError
from soel.explain import Explanation, RowExplanation, TableExplainer
from soel.explain.patterns import count_groups, find_patterns, find_rule
from soel.explain.words import show_cell
from soel.files import parse_json, write_whole
from soel.numeric import nearest_of
from soel.report.outcome import kept_path
from soel.session import Session, SessionState
from soel.session.item_tables import read_encoder, read_items
from soel.session.rounds import label_vector
from soel.tables.frame import Frame
from soel.types import Floats, Kind, Label, Rows

if TYPE_CHECKING:
    from soel.model import Blend

MOST_EXPLAINED, FEWEST_EXPLAINED = 1000, 10  # rows of a list of scores: its alarms, at most and at least so many
N_TOP = 100  # items with the highest scores that are kept with reasons
MOST_RESEMBLED = 10_000  # alarms of which it is kept what they are like
SHARE_ASKED = 0.5  # of the pool: an asked item among these is told from ordinary ones, even where it is no alarm
N_REASONS = 5
REASON_COLUMNS = (
    "why",
    *(f"why_{n}{part}" for n in range(1, N_REASONS + 1) for part in ("", "_value", "_usual", "_columns", "_share")),
    "why_rank",
    "why_suffices",
    "why_ordinary",
)  # of a file of scores: a sentence; of each group its central column, and all; the rank with all of them changed
LIKENESS_COLUMNS = ("why_like", "why_like_label")  # and the labelled item that a row resembles most
Kept = dict[str, Any]
NOTHING: Kept = {"items": {}, "resembles": {}, "patterns": None}


@dataclass(frozen=True)
class SessionExplainer:
    """Explains rows of a session's table by one model. pool: the session's own rows."""

    session: Session
    model: Blend
    table: TableExplainer
    pool: Frame

    @classmethod
    def of(cls, session: Session, model: Any, share: float = 0.0) -> SessionExplainer:
        """For a session on a table. model: of its last fit, or of before the first label. share: of the pool that is
        to be told from ordinary rows, where fewer are alarms.
        """
        if session.pool.kind is not Kind.TABLE:
            raise ConfigError(
                "Rows are explained by the columns of a table, and this session has none; ask for no why."
            )
        encoder, frame, features = read_encoder(session.folder), read_items(session.folder).frame, session.folder.pool
        kept = getattr(model, "pool_scores", ())
        scores = np.asarray(kept if len(kept) else model.score(features))
        labels, threshold = label_vector(session.state, session.ids), getattr(model, "threshold", np.inf)
        if share:
            threshold = min(threshold, float(np.quantile(scores, 1 - share)))
        table = TableExplainer.of(model, encoder, frame, features, scores, labels, threshold, session.ids)
        return cls(session, model, table, frame)

    def explain(self, frame: Frame, features: Floats) -> Explanation:
        """Rows with the features (n, d) that they were encoded to."""
        return self.table.explain(frame, features)

    def explain_own(self, rows: Rows) -> Explanation:
        """Some of the session's own rows."""
        return self.explain(self.pool.take(rows), self.session.folder.pool[rows])

    def alike(self, features: Floats) -> list[str] | None:
        """The labelled item of the session that each row (n, d) resembles most; None where nothing is labelled."""
        row_of = {item: row for row, item in enumerate(self.session.ids)}
        labelled = [item for item in self.session.state.labels if item in row_of]
        if not labelled or not len(features):
            return None
        known = self.session.folder.pool[[row_of[item] for item in labelled]]
        owner, _ = nearest_of(self.model.embed(features), self.model.embed(known))
        return [labelled[at] for at in owner.tolist()]

    def resembling(self, rows: Rows) -> dict[str, str]:
        """The labelled item that each of the session's rows is most like; none of what is labelled itself."""
        ids, labels = self.session.ids, self.session.state.labels
        asked = [row for row in rows.tolist() if ids[row] not in labels]
        alike = self.alike(self.session.folder.pool[asked])
        return {} if alike is None else {ids[row]: other for row, other in zip(asked, alike, strict=True)}

    def find_patterns(self, rows: Rows, found: Explanation, n_alarms: int) -> Kept:
        """What these alarms have in common: groups that suffice, and patterns with a rule. n_alarms: in all."""
        cells = self.table.encoder.match(self.pool)
        patterns = []
        for pattern in find_patterns(found):
            wanted = np.zeros(len(self.session.ids), bool)
            wanted[rows[list(pattern.rows)]] = True
            names = [name for group in pattern.groups for name in found.groups[group]]
            rule = find_rule({name: np.asarray(cells[name]) for name in names}, wanted)
            patterns.append(
                {
                    "groups": [found.groups[group] for group in pattern.groups],
                    "items": [self.session.ids[rows[row]] for row in pattern.rows],
                    "rule": None if rule is None or 2 * rule.n_hits < rule.n_wanted + 1 else _rule_json(asdict(rule)),
                }
            )
        return {
            "n_alarms": n_alarms,
            "n_explained": len(rows),
            "n_whole": sum(not row.suffices for row in found),
            "groups": [[found.groups[group], n] for group, n in count_groups(found)],
            "patterns": patterns,
        }


def keep_reasons(session: Session) -> None:
    """Explain the alarms and the open items by the newest model, and keep it; what is there already stays."""
    kept = explain_session(session)
    if kept["items"] and kept != read_reasons(session):
        write_whole(_place(session, session.state), json.dumps(kept).encode())


def explain_session(session: Session) -> Kept:
    """What was kept, with what is missing: the highest scores of a fit, and the open items."""
    state, kept = session.state, read_reasons(session)
    is_new = state.fit is not None and kept["patterns"] is None
    more = [item for item in state.open if item not in kept["items"]]
    if not (is_new or more) or session.pool.kind is not Kind.TABLE:
        return kept
    if state.fit is not None:
        model: Any = session.load_fit(state)
    elif state.warm_up is not None:
        model = session.load_model(state.warm_up)
    else:
        return kept
    kept = {name: dict(kept[name]) for name in ("items", "resembles")} | {"patterns": kept["patterns"]}

    def keep(rows: Rows, found: Explanation) -> None:
        kept["items"] |= {session.ids[row]: each.to_json() for row, each in zip(rows.tolist(), found, strict=True)}

    if is_new:
        explainer, scores = SessionExplainer.of(session, model), np.asarray(model.pool_scores)
        order, is_alarm = np.argsort(-scores, kind="stable"), scores > explainer.table.explainer.line
        top, n_alarms = order[:N_TOP], int(is_alarm.sum())
        found = explainer.explain_own(top)
        keep(top, found)
        alarms = replace(found, rows=tuple(compress(found, is_alarm[top])))
        kept["resembles"] |= explainer.resembling(order[: max(N_TOP, min(n_alarms, MOST_RESEMBLED))])
        kept["patterns"] = explainer.find_patterns(top[is_alarm[top]], alarms, n_alarms)
    row_of = {item: row for row, item in enumerate(session.ids)}
    rows = np.array([row_of[item] for item in more if item in row_of and item not in kept["items"]], np.int64)
    if len(rows):
        explainer = SessionExplainer.of(session, model, SHARE_ASKED)
        keep(rows, explainer.explain_own(rows))
        kept["resembles"] |= explainer.resembling(rows)
    return kept


def read_reasons(session: Session) -> Kept:
    """What was kept for the newest model; nothing where that is nothing."""
    state = session.state
    if state.fit is None and state.warm_up is None:
        return NOTHING
    path = _place(session, state)
    try:
        kept: Kept = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError) as error:
        raise SessionError(f"{path.name} cannot be read ({error}); delete it, and it is made anew.") from error
    return kept


def find_why(kept: Kept, item: str) -> RowExplanation | None:
    """The explanation of one item, where it was kept."""
    return RowExplanation.from_json(kept["items"][item]) if item in kept["items"] else None


def count_explained(n_alarms: int, n_rows: int) -> int:
    """How many rows of a list are explained: its alarms, the most anomalous first."""
    return min(max(n_alarms, FEWEST_EXPLAINED), MOST_EXPLAINED, n_rows)


def tabulate_reasons(found: Explanation, rows: Rows, n_rows: int) -> dict[str, list[Any]]:
    """REASON_COLUMNS for a file of scores; empty where not explained."""
    columns: dict[str, list[Any]] = {name: [None] * n_rows for name in REASON_COLUMNS}
    for row, each in zip(rows.tolist(), found, strict=True):
        columns["why"][row] = str(each)
        if not each.like:
            continue
        columns["why_rank"][row], columns["why_ordinary"][row] = each.changed_rank, each.like
        columns["why_suffices"][row] = "yes" if each.suffices else "no"
        for n, reason in enumerate(each.reasons, 1):
            columns[f"why_{n}"][row] = reason.columns[0]
            columns[f"why_{n}_value"][row], columns[f"why_{n}_usual"][row] = (
                show_cell(cells[0]) for cells in (reason.values, reason.usual)
            )
            columns[f"why_{n}_columns"][row] = "; ".join(reason.columns)
            columns[f"why_{n}_share"][row] = reason.contribution / (each.score - each.baseline)
    return columns


def tabulate_likeness(
    alike: Sequence[str] | None, rows: Rows, items: Sequence[str], labels: Mapping[str, Label]
) -> dict[str, list[Any]]:
    """LIKENESS_COLUMNS: the labelled item that each row resembles most, and its label; empty for what is labelled.

    alike: of each of the rows (n,), if anything is labelled. items: what all rows are called.
    """
    columns: dict[str, list[Any]] = {name: [None] * len(items) for name in LIKENESS_COLUMNS}
    for row, other in zip(rows.tolist(), alike or (), strict=False):
        if items[row] not in labels:
            columns["why_like"][row], columns["why_like_label"][row] = other, labels[other].word
    return columns


def _place(session: Session, state: SessionState) -> Path:
    ref = state.warm_up if state.fit is None else state.fit.model
    assert ref is not None
    return kept_path(session, ref, ".reasons.json")


def _rule_json(rule: Kept) -> Kept:
    return rule | {"conditions": [{**each, "value": show_cell(each["value"])} for each in rule["conditions"]]}
