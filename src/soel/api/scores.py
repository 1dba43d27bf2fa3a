"""Scores of a session's own items, or of new ones, written under the names that people know them by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from soel.data.baseline import Tally
from soel.data.encoder import Encoder
from soel.data.frame import Frame, as_frame
from soel.data.session_streams import open_other, open_whole
from soel.data.session_tables import read_encoder, read_items
from soel.data.streams import Stream
from soel.data.tables import Table, read_table
from soel.errors import ConfigError, SchemaError
from soel.learner.models import FEW_ROWS
from soel.media.picture_pool import read_new_pictures
from soel.media.session_media import open_media
from soel.metrics.threshold import ThresholdRule, parse_threshold
from soel.profiles import Profile
from soel.quality import UnsureBand
from soel.quality.alarms import real_alarms
from soel.report.promises import promise_of
from soel.report.reasons import TableExplainer, choose_explained, tabulate_reasons
from soel.scoring.cluster_scoring import scoring_on
from soel.scoring.drift import AlarmCounts, judge_drift
from soel.scoring.intervals import name_intervals, write_intervals
from soel.scoring.score_files import check_suffix
from soel.scoring.score_stream import Scorer, check_out, score_stream
from soel.scoring.score_table import build_score_table, free_name, labels_by_item, name_pictures, name_rows
from soel.session import Session, SessionConfig
from soel.session.ports import Learnt
from soel.session.results import ScoreResult, ranked
from soel.types import ANOMALY, Floats, Kind, Progress

Names = Mapping[str, Sequence[Any]]
Cells = Mapping[str, Iterable[Any]]


def score_file(
    session: Session,
    data: str | Path | None,
    out: Path,
    threshold: str | None = None,
    progress: Progress | None = None,
    with_columns: bool = False,
    why: bool = False,
) -> dict[str, Any]:
    """Score new items, or all the session's own; write names, then the columns of `score_table.COLUMNS`.

    out: .csv, .parquet, .json or .xlsx, sorted by rank. Rows that are too many for memory are read in parts; `out` may
    then be a folder, too. A number of alarms counts in what is scored; other rules mean the pool. with_columns: write
    the rows' own columns behind. why: say of each alarm which columns raise its score (of the most anomalous thousand,
    and of ten at least).
    """
    out, rule = Path(out), parse_threshold(threshold or session.config.threshold)
    if with_columns and session.folder.has_pictures:
        raise ConfigError("Pictures have no columns of their own; leave --with-columns out.")
    stream = _find_stream(session, data)
    if stream is not None:
        if why:
            raise ConfigError("Rows that are read in parts are scored without reasons; leave --why out.")
        check_out(out)
        scorer = replace(make_scorer(session, threshold, is_new=data is not None), with_columns=with_columns)
        document = score_stream(stream, scorer, out, progress)
        return document | {"promise": _promise(rule, document["drift"])}
    check_suffix(out)
    new = None if data is None else _read_new(session, Path(data), with_columns)
    few_rows = new is not None and len(new.ids) <= FEW_ROWS
    _, model = session.fitted(None if rule.kind == "alarms" else threshold, few_rows)
    if new is None:
        ids, names, scores, drift = session.ids, name_items(session), session.pool_scores(model), None
        cells: Cells = read_items(session.folder, with_cells=True).cells if with_columns else {}
    else:
        ids, names, scores, cells = new.ids, new.names, model.score(new.features, new.patches), new.cells
        alarms = AlarmCounts.of(model.alarms(scores), model.alarms(session.pool_scores(model)))
        drift = judge_drift(new.encoder.baseline, new.tally, alarms).document()
    scored = ranked(ids, scores, model.alarms(scores))
    if rule.kind == "alarms":
        scored = replace(scored, is_anomaly=scored.ranks <= _n_alarms(rule))
    probabilities, p_values = _probabilities(model, scores), _p_values(model, scores)
    if why:
        said = _explain(session, model, scored, new)
        cells = {**said, **{free_name(name, said): values for name, values in cells.items()}}
    table = build_score_table(scored, names, session.state, probabilities, cells, p_values, _unsure(session, model))
    table.write(out)
    events = name_intervals(names, scores, scored.is_anomaly)
    told: dict[str, Any] = {"intervals": [vars(event) for event in events]} if events else {}
    if events:
        write_intervals(out, events)
    told |= {"drift": drift, "promise": _promise(rule, drift)}
    real = None if _has_drifted(drift) else _real_alarms(scored, session, probabilities)
    return table.summary(out) | {"real_alarms": real} | told


def _explain(session: Session, model: Any, scored: ScoreResult, new: _NewItems | None) -> Names:
    """Why the alarms are alarms, as columns."""
    rows = choose_explained(scored.ranks, int(scored.is_anomaly.sum()))
    explainer = TableExplainer.of(session, model)
    if new is None:
        found = explainer.explain_own(session.folder.pool, rows)
    else:
        found = explainer.explain(new.frame.take(rows), new.features[rows])
    return tabulate_reasons(found, rows, len(scored.ids))


def name_items(session: Session) -> Names:
    """What the session's own items are called, in row order."""
    media = open_media(session.folder)
    return name_rows(session.ids, session.config.id_column) if media is None else name_pictures(media.items)


def make_scorer(session: Session, rule: str | None, is_new: bool = False) -> Scorer:
    """What scores a stream. is_new: whether its rows are others than the pool's, and are compared with it."""
    wanted = parse_threshold(rule or session.config.threshold)
    n_alarms = _n_alarms(wanted) if wanted.kind == "alarms" else None
    ref, model = session.fitted(rule if n_alarms is None else None)
    return Scorer(
        ref.fingerprint,
        _read_encoder_with_baseline(session) if is_new else replace(read_encoder(session.folder), baseline=None),
        model.score,
        model.alarms,
        n_alarms,
        scoring_on(session.engine, model),
        lambda scores: _probabilities(model, scores),
        labels_by_item(session.state),
        session.pool_scores(model) if is_new else np.zeros(0),
        p_values=lambda scores: _p_values(model, scores),
        unsure=_unsure(session, model),
    )


def _real_alarms(scored: ScoreResult, session: Session, probabilities: Floats | None) -> list[int] | None:
    """From how many to how many alarms are real, roughly; None where the model has no probabilities."""
    if probabilities is None:
        return None
    labels = session.state.labels
    alarms = np.flatnonzero(scored.is_anomaly)
    told = [labels.get(scored.ids[row]) for row in alarms]
    unknown = [row for row, label in zip(alarms, told, strict=True) if label is None]
    found = real_alarms(probabilities[unknown], sum(label == ANOMALY for label in told))
    return [int(found.low), int(found.high)]


def _promise(rule: ThresholdRule, drift: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is promised of the alarms; withdrawn where the rows are not like the pool."""
    return promise_of(rule, _has_drifted(drift)).document()


def _has_drifted(drift: Mapping[str, Any] | None) -> bool:
    return drift is not None and bool(drift["found"])


def _n_alarms(rule: ThresholdRule) -> int:
    return int(rule.value or 0)


def _probabilities(model: Any, scores: Floats) -> Floats | None:
    """Of being an anomaly, by the model's own calibration; None where it has none."""
    calibration = getattr(model, "calibration", None)
    return None if calibration is None else calibration.probabilities(scores)


def _p_values(model: Any, scores: Floats) -> Floats | None:
    """How often a normal item scores as high; None where the model keeps nothing to tell it by."""
    told = getattr(model, "p_values", None)
    return None if told is None else told(scores)


def _unsure(session: Session, model: Learnt) -> UnsureBand:
    """Scores of items whose side hangs on where in its interval the share of anomalies lies."""
    return UnsureBand.of(session.pool_scores(model), model.estimate.low, model.estimate.high)


def _find_stream(session: Session, data: str | Path | None) -> Stream | None:
    """What is to be scored as a stream; None where it fits into memory."""
    if data is None:
        place = session.folder
        return open_whole(place, read_encoder(place)) if place.wholes else None
    if session.folder.has_pictures:
        return None
    return open_other(session, data, read_encoder(session.folder))


@dataclass(frozen=True)
class _NewItems:
    """Items that are not of the session: ids, names, features (n, d), and what their columns hold.

    cells: their own columns as written, where they were asked for. patches: of pictures, where they count.
    """

    ids: tuple[str, ...]
    names: Names
    features: Floats
    encoder: Encoder
    frame: Frame
    tally: Tally | None = None
    cells: Cells = field(default_factory=dict)
    patches: Floats | None = None


def _read_new(session: Session, data: Path, with_cells: bool) -> _NewItems:
    """New items, read as the pool was."""
    if session.folder.has_pictures:
        encoder = read_encoder(session.folder)
        new = read_new_pictures(session.folder.path, data)
        ids, names = tuple(item.id for item in new.items), name_pictures(new.items)
        frame = as_frame(new.features)
        return _NewItems(ids, names, encoder.encode(frame), encoder, frame, patches=new.patches)
    encoder = _read_encoder_with_baseline(session)
    table = _read_new_rows(session.config, data, encoder, with_cells)
    frame, ids = table.frame, tuple(table.ids.tolist())
    names = name_rows(ids, session.config.id_column)
    return _NewItems(ids, names, encoder.encode(frame), encoder, frame, encoder.tally(frame), table.cells)


def _read_encoder_with_baseline(session: Session) -> Encoder:
    """How rows become features; what the pool holds is looked up in its tables for a session of before,
    and for one that has grown.
    """
    encoder = read_encoder(session.folder)
    is_table = Profile.from_json(session.config.settings, encoder.n_features).kind is Kind.TABLE
    has_grown = len(session.folder.pools) > 1
    if not is_table or (encoder.baseline is not None and not has_grown):
        return encoder
    return encoder.with_baseline(read_items(session.folder).frame)


def _read_new_rows(config: SessionConfig, data: Path, encoder: Encoder, with_cells: bool) -> Table:
    """New rows; the label column of the session may be among their columns or not."""
    if config.label_column:
        try:
            known = [config.label_column]
            return read_table(data, config.id_column, known, reading=encoder.how, with_cells=with_cells)
        except SchemaError:
            pass
    return read_table(data, config.id_column, (), reading=encoder.how, with_cells=with_cells)
