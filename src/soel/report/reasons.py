"""Why a session's items are alarms, kept beside the model for the page and the report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import ConfigError, SessionError
from soel.explain import Explainer, Explanation, RowExplanation, show_cell
from soel.files import parse_json, write_whole
from soel.numeric import nearest_of
from soel.report.outcome import kept_path
from soel.session import Session
from soel.session.item_tables import read_encoder, read_items
from soel.session.rounds import label_vector, rows_of
from soel.types import Booleans, Floats, Kind, Rows

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


# What alarms have in common: alike by the groups of columns that suffice, each pattern with a short rule

FEWEST_ALIKE, MOST_PATTERNS = 2, 8
MOST_CONDITIONS, BEAM = 3, 6
CUTS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of the wanted rows, at which conditions are tried
GAIN = 0.02  # by which a further condition must better a rule
Columns = Mapping[str, Any]  # of all rows, each (N,)
Condition = dict[str, str]


def find_in_common(found: Explanation, rows: Rows, ids: Sequence[str], columns: Columns) -> dict[str, Any]:
    """What alarms (n,) share, as plain JSON: groups that suffice, and patterns with a rule for most of their rows.

    rows: (n,) where the alarms are among all rows, which have these ids and columns.
    """
    patterns = []
    for groups, some in find_patterns(found):
        wanted = np.zeros(len(ids), bool)
        wanted[rows[some]] = True
        names = [found.groups[group] for group in groups]
        rule = find_rule({name: columns[name] for group in names for name in group}, wanted)
        is_telling = rule is not None and 2 * rule["n_hits"] > len(some)
        items = [ids[row] for row in rows[some]]
        patterns.append({"groups": names, "items": items, "rule": rule if is_telling else None})
    counts = Counter(group for row in found if row.suffices for group in {each.group for each in row.reasons})
    return {
        "n_explained": len(found),
        "n_whole": sum(not row.suffices for row in found),
        "groups": [[found.groups[group], n] for group, n in counts.most_common()],
        "patterns": patterns,
    }


def find_patterns(found: Explanation) -> list[tuple[list[int], list[int]]]:
    """The groups and the rows of each pattern, the largest first; a row that is like no other is in none.

    Rows with the same groups are alike; those whose groups nobody else has go by the group that contributes most.
    """
    own = {at: frozenset(each.group for each in row.reasons) for at, row in enumerate(found) if row.suffices}
    counts = Counter(own.values())
    members: dict[frozenset[int], list[int]] = {}
    for at in sorted(own, key=lambda at: -found[at].score):
        shared = own[at] if counts[own[at]] >= FEWEST_ALIKE else frozenset([found[at].reasons[0].group])
        members.setdefault(shared, []).append(at)
    large = [(sorted(groups), rows) for groups, rows in members.items() if len(rows) >= FEWEST_ALIKE]
    return sorted(large, key=lambda pattern: -len(pattern[1]))[:MOST_PATTERNS]


def find_rule(columns: Columns, wanted: Booleans) -> dict[str, Any] | None:
    """The rule that tells wanted rows (N,) from the others best, as plain JSON; None where none does.

    Its at most three conditions (each a `column`, a `sign`, a `value`) hold together in `n_met` rows, of which `n_hits`
    are wanted. Best: by precision and recall together, of which precision counts more. It is found on the same rows, so
    it flatters itself on others.
    """
    everyone, tried = np.ones(len(wanted), bool), [*_conditions(columns, wanted)]
    best: tuple[float, tuple[Condition, ...], Booleans] = (0.0, (), everyone)
    beam = [best]
    for _ in range(MOST_CONDITIONS if wanted.any() else 0):
        longer = [
            (_worth(met & holds, wanted), (*conditions, condition), met & holds)
            for _, conditions, met in beam
            for condition, holds in tried
            if condition not in conditions
        ]
        beam = sorted(longer, key=lambda each: -each[0])[:BEAM]
        if not beam or beam[0][0] < best[0] + GAIN:
            break
        best = beam[0]
    worth, conditions, met = best
    if not conditions or worth < _worth(everyone, wanted) + GAIN:
        return None
    return {"conditions": [*conditions], "n_met": int(met.sum()), "n_hits": int((met & wanted).sum())}


def _conditions(columns: Columns, wanted: Booleans) -> Iterator[tuple[Condition, Booleans]]:
    """What may tell the wanted rows, with the rows (N,) that meet it."""
    for name, column in columns.items():
        own = column[wanted]
        if column.dtype == np.float64:
            own = own[~np.isnan(own)]
            for cut in np.unique(np.quantile(own, CUTS, method="nearest")) if len(own) else ():
                yield {"column": name, "sign": "≥", "value": show_cell(cut)}, column >= cut
                yield {"column": name, "sign": "≤", "value": show_cell(cut)}, column <= cut
        elif column.dtype == object:
            words = Counter(sorted(word for word in own if word is not None))
            for word, _ in words.most_common(len(CUTS)):
                yield {"column": name, "sign": "=", "value": word}, np.asarray(column == word, bool)


def _worth(met: Booleans, wanted: Booleans) -> float:
    """F of precision and recall, with the weight 0.5."""
    return 1.25 * float((met & wanted).sum()) / float(met.sum() + 0.25 * wanted.sum())
