"""What the last fit of a session says of items: its own or new ones, in memory or as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from soel.assess.conformal import UnsureBand
from soel.assess.drift import AlarmCounts, Drift, judge_drift
from soel.assess.threshold import NEVER, parse_threshold
from soel.images.items import Skipped
from soel.model import FEW_ROWS
from soel.scoring.clips import name_intervals, write_intervals
from soel.scoring.stream import RowExplainer, Scorer
from soel.scoring.table import Answers, Names, build_score_table, labels_by_item, name_rows
from soel.session import Session
from soel.session.items import read_encoder, read_encoder_with_baseline, read_rows_as
from soel.session.results import ScoreResult, rank_scores
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.tables.schema import notes_of
from soel.tables.tally import Tally
from soel.types import Floats

Cells = Mapping[str, Iterable[Any]]
ExplainBy = Callable[[Any], RowExplainer]  # a model of the session


@dataclass(frozen=True)
class NewItems:
    """Items that are not of the session: ids, names, features (n, d), and what their columns hold.

    cells: their own columns as written, where they were asked for. patches: of pictures, where they count. left_out:
    files that cannot be read.
    """

    ids: tuple[str, ...]
    names: Names
    features: Floats
    encoder: Encoder
    frame: Frame
    tally: Tally | None = None
    cells: Cells = field(default_factory=dict)
    patches: Floats | None = None
    left_out: tuple[Skipped, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What reading them left out."""
        return notes_of(self.frame.schema)


def read_new_rows(session: Session, data: Path, with_cells: bool = False) -> NewItems:
    """Rows of another table, read as the pool was. with_cells: with all columns as they are written."""
    encoder = read_encoder_with_baseline(session.folder)
    table = read_rows_as(data, session.config, encoder.how, with_cells, drop_duplicates=False)
    frame, ids = table.frame, tuple(table.ids.tolist())
    names = name_rows(ids, session.config.id_column, frame.row_names)
    return NewItems(ids, names, encoder.encode(frame), encoder, frame, encoder.tally(frame), table.cells)


@dataclass(frozen=True)
class ItemScores:
    """What the last fit of a session says of items. drift: how they differ from the pool, None for its own.

    probabilities: (n,) of being an anomaly, p_values: (n,) how often a normal item scores as high; None where the
    model keeps nothing to tell it by. unsure: scores of items whose side hangs on where in its interval the share of
    anomalies lies. answers: what was said of them.
    """

    session: Session
    model: Any
    result: ScoreResult
    unsure: UnsureBand
    probabilities: Floats | None
    p_values: Floats | None
    answers: Answers
    drift: Drift | None = None
    left_out: tuple[Skipped, ...] = ()

    @property
    def has_drifted(self) -> bool:
        """Whether the items are not like the pool, so that nothing is promised of them."""
        return self.drift is not None and self.drift.found

    @property
    def can_alarm(self) -> bool:
        """Whether any score would raise an alarm."""
        return bool(self.model.threshold < NEVER)

    def write(self, out: Path, names: Names, cells: Cells) -> dict[str, Any]:
        """Write the file, and the events of clips beside it; returns a summary."""
        known = (self.answers, self.probabilities, cells, self.p_values, self.unsure)
        table = build_score_table(self.result, names, *known)
        table.with_left_out(self.left_out).write(out)
        events = name_intervals(names, self.result.scores, self.result.is_anomaly)
        summary = table.summary(out) | {"left_out": [asdict(file) for file in self.left_out]}
        if events:
            write_intervals(out, events)
            summary["intervals"] = [vars(event) for event in events]
        return summary | {"drift": None if self.drift is None else self.drift.document()}


def score_items(session: Session, threshold: str | None, new: NewItems | None) -> ItemScores:
    """Scores of new items, or of the session's own. threshold: the session's where it is None.

    A number of alarms counts in what is scored; other rules mean the pool.
    """
    rule = parse_threshold(threshold or session.config.threshold)
    few_rows = new is not None and len(new.ids) <= FEW_ROWS
    fit: Any = session.fitted(threshold if rule.count(0) is None else None, few_rows)[1]
    pool_scores = session.pool_scores(fit)
    ids, scores, drift, answers = session.ids, pool_scores, None, labels_by_item(session.state)
    if new is not None:
        answers = _answers_to_same(session, new, answers)
        ids, scores = new.ids, fit.score(new.features, new.patches)
        alarms = AlarmCounts.of(fit.alarms(scores), fit.alarms(pool_scores))
        drift = judge_drift(new.encoder.baseline, new.tally, alarms)
    result = rank_scores(ids, scores, fit.alarms(scores))
    n_alarms = rule.count(len(ids))
    if n_alarms is not None:
        result = replace(result, is_anomaly=result.ranks <= n_alarms)
    unsure = UnsureBand.of(pool_scores, fit.estimate.low, fit.estimate.high)
    told = _probabilities(fit, scores), _p_values(fit, scores)
    return ItemScores(session, fit, result, unsure, *told, answers, drift, () if new is None else new.left_out)


def _answers_to_same(session: Session, new: NewItems, answers: Answers) -> Answers:
    """Of what was said of the session's items, that of those which are among the new ones as they were.

    Ids of another night may start again from 1: an answer belongs to what was seen.
    """
    place = session.folder
    row_of = {item: row for row, item in enumerate(place.ids) if item in answers}
    rows = np.array([row for row, item in enumerate(new.ids) if item in row_of], np.int64)
    own = np.asarray(place.pool)[[row_of[new.ids[row]] for row in rows]]
    same = np.isclose(new.features[rows], own, rtol=1e-5, atol=1e-6, equal_nan=True).all(axis=1)
    return {new.ids[row]: answers[new.ids[row]] for row in rows[same]}


def make_scorer(
    session: Session, threshold: str | None, n_rows: int, is_new: bool = False, explain: ExplainBy | None = None
) -> Scorer:
    """What scores a stream of so many rows. is_new: whether they are others than the pool's, and compared with it.

    explain: how rows are explained by the model, where somebody asks why.
    """
    n_alarms = parse_threshold(threshold or session.config.threshold).count(n_rows)
    ref, model = session.fitted(threshold if n_alarms is None else None)
    place, pool_scores = session.folder, session.pool_scores(model)
    return Scorer(
        ref.fingerprint,
        read_encoder_with_baseline(place) if is_new else replace(read_encoder(place), baseline=None),
        model.score,
        model.alarms,
        n_alarms,
        lambda scores: _probabilities(model, scores),
        labels_by_item(session.state),
        pool_scores if is_new else np.zeros(0),
        p_values=lambda scores: _p_values(model, scores),
        unsure=UnsureBand.of(pool_scores, model.estimate.low, model.estimate.high),
        explainer=None if explain is None else explain(model),
        can_alarm=model.threshold < NEVER,
    )


def _probabilities(model: Any, scores: Floats) -> Floats | None:
    """Of being an anomaly (n,), by the model's own calibration; None where it has none."""
    calibration = getattr(model, "calibration", None)
    return None if calibration is None else calibration.probabilities(scores)


def _p_values(model: Any, scores: Floats) -> Floats | None:
    """How often a normal item scores as high (n,); None where the model keeps nothing to tell it by."""
    p_values = getattr(model, "p_values", None)
    return None if p_values is None else p_values(scores)
