"""Scores of a session's own items, or of new ones, written under the names that people know them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from soel.assess.threshold import ThresholdRule, parse_threshold, promise_document
from soel.errors import ConfigError
from soel.report.reasons import (
    LIKENESS_COLUMNS,
    MOST_EXPLAINED,
    REASON_COLUMNS,
    SessionExplainer,
    choose_explained,
    count_explained,
    tabulate_likeness,
    tabulate_reasons,
)
from soel.scoring.ray import Cluster, import_ray
from soel.scoring.session_scores import Cells, ItemScores, NewItems, make_scorer, read_new_rows, score_items
from soel.scoring.stream import RowExplainer, check_out, score_stream
from soel.scoring.table import free_name, name_pictures, name_rows
from soel.session import Session
from soel.session.items import read_encoder, read_items
from soel.session.media import open_media
from soel.session.pictures import read_new_pictures
from soel.session.sampling import find_scored_stream
from soel.tables.frame import Frame, as_frame
from soel.tables.write import check_suffix
from soel.types import Floats, Progress

Names = Mapping[str, Sequence[Any]]


def score_file(
    session: Session,
    data: str | Path | None,
    out: Path,
    threshold: str | None = None,
    progress: Progress | None = None,
    with_columns: bool = False,
    why: Literal["alarms", "all"] | None = None,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Score new items, or all the session's own; write names, then the columns of `table.COLUMNS`.

    out: .csv, .parquet, .json or .xlsx, sorted by rank. Rows that are too many for memory are read in parts; `out` may
    then be a folder, too. A number of alarms counts in what is scored; other rules mean the pool. with_columns: write
    the rows' own columns behind. why: say which columns raise the score of each alarm (of the most anomalous thousand,
    and of ten at least), or of all rows, which needs them in memory. cluster: whose machines score rows that are read
    in parts, None for this one.
    """
    if cluster is not None:
        import_ray()  # a missing extra is named before anything is read
    out, rule = Path(out), parse_threshold(threshold or session.config.threshold)
    if with_columns and session.folder.has_pictures:
        raise ConfigError("Pictures have no columns of their own; leave <<with-columns>> out.")
    stream = find_scored_stream(session.folder, data)
    if stream is not None:
        if why == "all":
            raise ConfigError(
                f"Of rows that are read in parts, alarms are explained, at most {MOST_EXPLAINED:,}; ask with <<why>> "
                "alone."
            )
        check_out(out)
        share = _share_of_alarms(session, rule, stream.n_rows)
        explain = (lambda model: _explain_stream(session, model, share)) if why else None
        scorer = replace(
            make_scorer(session, threshold, stream.n_rows, data is not None, explain), with_columns=with_columns
        )
        document = score_stream(stream, scorer, out, progress, cluster)
        drift = document["drift"]
        has_drifted = drift is not None and drift["found"]
        promise = promise_document(rule, has_drifted, scorer.can_alarm, document["n_items"])
        return document | {"promise": promise, "notes": [] if data is None else list(stream.notes)}
    check_suffix(out)
    new = None if data is None else _read_new(session, Path(data), with_columns)
    scored = score_items(session, threshold, new)
    if new is None:
        names = name_items(session)
        cells: Cells = read_items(session.folder, with_cells=True).cells if with_columns else {}
    else:
        names, cells = new.names, new.cells
    explained = {}
    if why:
        share = _share_of_alarms(session, rule, len(scored.result.ids))
        reasons = _explain(scored, new, why, share)
        cells = {**reasons, **{free_name(name, reasons): values for name, values in cells.items()}}
        explained = {"n_explained": sum(each is not None for each in reasons["why"])}
    promise = promise_document(rule, scored.has_drifted, scored.can_alarm, len(scored.result.ids))
    notes = [] if new is None else new.notes
    return scored.write(out, names, cells) | explained | {"promise": promise, "notes": notes}


def name_items(session: Session) -> Names:
    """What the session's own items are called, in row order."""
    media, id_column = open_media(session.folder), session.config.id_column
    if media is not None:
        return name_pictures(media.items)
    called = None if id_column is not None else read_items(session.folder).frame.row_names
    return name_rows(session.ids, id_column, called)


def _share_of_alarms(session: Session, rule: ThresholdRule, n_rows: int) -> float:
    """Of so many rows, where the rule sets a number of alarms; a small file is no measure of what is ordinary."""
    return (rule.count(n_rows) or 0) / max(n_rows, len(session.ids))


def _explain(scored: ItemScores, new: NewItems | None, why: str, share: float) -> Names:
    """Why the alarms are alarms, or why all rows score as they do, as columns. share: of alarms, where it was set."""
    result, session = scored.result, scored.session
    every = np.argsort(result.ranks, kind="stable")
    rows = every if why == "all" else choose_explained(result.ranks, int(result.is_anomaly.sum()))
    explainer = SessionExplainer.of(session, scored.model, share)
    frame, features = (explainer.pool, session.folder.pool) if new is None else (new.frame, new.features)
    found = explainer.explain(frame.take(rows), features[rows])
    like = tabulate_likeness(explainer.alike(features[rows]), rows, result.ids, session.state.labels)
    return {**tabulate_reasons(found, rows, len(result.ids)), **like}


def _explain_stream(session: Session, model: Any, share: float) -> RowExplainer:
    """How rows of a stream are explained by the columns of the session's table."""
    explainer, labels = SessionExplainer.of(session, model, share), session.state.labels

    def tabulate(frame: Frame, features: Floats, ids: Sequence[str]) -> Names:
        rows = np.arange(len(ids))
        like = tabulate_likeness(explainer.alike(features), rows, ids, labels)
        return {**tabulate_reasons(explainer.explain(frame, features), rows, len(rows)), **like}

    return RowExplainer((*REASON_COLUMNS, *LIKENESS_COLUMNS), tabulate, count_explained)


def _read_new(session: Session, data: Path, with_cells: bool) -> NewItems:
    """New items, read as the pool was."""
    if not session.folder.has_pictures:
        return read_new_rows(session, data, with_cells)
    encoder, new = read_encoder(session.folder), read_new_pictures(session.folder.path, data)
    frame, ids = as_frame(new.features), tuple(item.id for item in new.items)
    return NewItems(
        ids, name_pictures(new.items), encoder.encode(frame), encoder, frame, patches=new.patches, left_out=new.skipped
    )
