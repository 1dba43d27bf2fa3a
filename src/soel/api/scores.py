"""Scores of a session's own items, or of new ones, written under the names that people know them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from soel.api.sources import read_encoder
from soel.data.encoder import Encoder
from soel.data.frame import as_frame
from soel.data.streams import Stream
from soel.data.tables import Table, read_table
from soel.errors import SchemaError
from soel.media.picture_pool import MEDIA, read_new_pictures
from soel.media.session_media import open_media
from soel.metrics.threshold import ThresholdRule, parse_threshold
from soel.scoring.cluster_scoring import scoring_on
from soel.scoring.score_stream import Scorer, check_out, score_stream
from soel.scoring.score_table import build_score_table, check_suffix, name_pictures, name_rows, said_about
from soel.scoring.streaming import open_other, open_whole
from soel.session import Session, SessionConfig
from soel.session.results import ranked
from soel.types import Floats, Progress

Names = Mapping[str, Sequence[Any]]


def score_file(
    session: Session,
    data: str | Path | None,
    out: Path,
    threshold: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Score new items, or all the session's own, and write names, rank, score, probability, alarm, label and who.

    out: .csv, .parquet or .json, sorted by rank. Rows that are too many for memory are read in parts and keep their
    order; `out` may then be a folder, too. A number of alarms counts in what is scored; other rules mean the pool.
    """
    out, rule = Path(out), parse_threshold(threshold or session.config.threshold)
    stream = _find_stream(session, data)
    if stream is not None:
        check_out(out)
        return score_stream(stream, make_scorer(session, threshold), out, progress)
    check_suffix(out)
    new = None if data is None else _read_new(session, Path(data))
    _, model = session.fitted(None if rule.kind == "alarms" else threshold)
    if new is None:
        ids, names, scores = session.ids, name_items(session), session.pool_scores(model)
    else:
        ids, names, features, patches = new
        scores = model.score(features, patches)
    scored = ranked(ids, scores, model.alarms(scores))
    if rule.kind == "alarms":
        scored = replace(scored, is_anomaly=scored.ranks <= _n_alarms(rule))
    table = build_score_table(scored, names, session.state, _probabilities(model, scores))
    table.write(out)
    return table.summary(out)


def name_items(session: Session) -> Names:
    """What the session's own items are called, in row order."""
    media = open_media(session.folder)
    return name_rows(session.ids, session.config.id_column) if media is None else name_pictures(media.items)


def make_scorer(session: Session, rule: str | None) -> Scorer:
    """What scores a stream."""
    wanted = parse_threshold(rule or session.config.threshold)
    n_alarms = _n_alarms(wanted) if wanted.kind == "alarms" else None
    ref, model = session.fitted(rule if n_alarms is None else None)
    return Scorer(
        ref.fingerprint,
        read_encoder(session.folder),
        model.score,
        model.alarms,
        n_alarms,
        scoring_on(session.engine, model),
        lambda scores: _probabilities(model, scores),
        said_about(session.state),
    )


def _n_alarms(rule: ThresholdRule) -> int:
    return int(rule.value or 0)


def _probabilities(model: Any, scores: Floats) -> Floats | None:
    """Of being an anomaly, by the model's own calibration; None where it has none."""
    calibration = getattr(model, "calibration", None)
    return None if calibration is None else calibration.probabilities(scores)


def _find_stream(session: Session, data: str | Path | None) -> Stream | None:
    """What is to be scored as a stream; None where it fits into memory."""
    if data is None:
        place = session.folder
        return open_whole(place, read_encoder(place)) if place.wholes else None
    if (session.folder.path / MEDIA).exists():
        return None
    return open_other(session, data, read_encoder(session.folder))


def _read_new(session: Session, data: Path) -> tuple[tuple[str, ...], Names, Floats, Floats | None]:
    """Ids, names, features and patches of new items, read as the pool was."""
    encoder = read_encoder(session.folder)
    if (session.folder.path / MEDIA).exists():
        new = read_new_pictures(session.folder.path, data)
        ids = tuple(item.id for item in new.items)
        return ids, name_pictures(new.items), encoder.encode(as_frame(new.features)), new.patches
    table = _read_new_rows(session.config, data, encoder)
    ids = tuple(table.ids.tolist())
    return ids, name_rows(ids, session.config.id_column), encoder.encode(table.frame), None


def _read_new_rows(config: SessionConfig, data: Path, encoder: Encoder) -> Table:
    """New rows; the label column of the session may be among their columns or not."""
    if config.label_column:
        try:
            return read_table(data, config.id_column, [config.label_column], reading=encoder.how)
        except SchemaError:
            pass
    return read_table(data, config.id_column, (), reading=encoder.how)
