"""The facts of a session's report: gathered from its events, its newest model and its table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from soel.assess.metrics import cover_radius
from soel.assess.threshold import NEVER, parse_threshold
from soel.errors import SessionError
from soel.explain.words import say_common, say_pattern
from soel.report.facts import AnsweredItem, MediaFacts, PoolFacts, ReportFacts, Setup, Standout, Threshold, TopItem
from soel.report.quality_words import NO_CHECK, quality_lines, rough_lines
from soel.report.reasons import NOTHING, Kept, find_why
from soel.session import Session, SessionState
from soel.session.draw import label_vector
from soel.settings import Profile
from soel.tables.columns import Values
from soel.tables.frame import Frame
from soel.tables.schema import describe_features, describe_kind
from soel.text import count
from soel.types import Floats, Label, Labels

if TYPE_CHECKING:
    from soel.model import Fitted

N_TOP, N_STANDOUTS = 10, 3


def gather(session: Session, frame: Frame, kept: Kept = NOTHING, media: MediaFacts | None = None) -> ReportFacts:
    """Everything that the page about the session's last fit shows. frame: the readable columns of its items."""
    state, config = session.state, session.config
    if state.fit is None:
        raise SessionError("There is no fitted model to report on yet; fit first.")
    place = session.folder_with(state.pools)
    model: Fitted = session.load_fit(state)
    scores, embeddings = session.learner.look(model, session.pool_in(place))
    alarms, labels = model.alarms(scores), label_vector(state, place.ids)
    names = _names(place.ids, {} if media is None else media.names)
    return ReportFacts(
        title=f"Anomalies in {session.title}",
        created=datetime.now(UTC).isoformat(timespec="minutes"),
        setup=_setup(session, frame, media),
        pool=PoolFacts([names[item] for item in place.ids], scores, labels, embeddings),
        contamination=model.estimate,
        threshold=Threshold(_cut(model.threshold), config.threshold, int(alarms.sum())),
        cover_radius=_radius(embeddings, labels),
        history=model.history,
        queries=[replace(query, item=names[query.item]) for query in _queries(state)],
        top=[replace(top, item=names[top.item]) for top in _top(place.ids, scores, alarms, labels, frame, kept, media)],
        next_steps=_next_steps(session, state),
        promises=_promises(session, model),
        in_common=_in_common(kept, state),
        events=() if media is None else media.find_events(scores, alarms),
    )


def _names(ids: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """What each item is called: its picture's name, with its id where two have the same; the id of a row."""
    called = {item: known.get(item, item) for item in ids}
    counts = Counter(called.values())
    return {item: name if counts[name] == 1 else f"{name} ({item})" for item, name in called.items()}


def _promises(session: Session, model: Fitted) -> list[str]:
    """What a spot check proves, what is roughly so without one, and what is promised of the alarms."""
    status = session.status()
    proven = [NO_CHECK] if status.quality is None else quality_lines(status.quality)
    rough = [] if status.figures is None else rough_lines(status.figures)
    promise = parse_threshold(session.config.threshold).promise(can_alarm=model.threshold < NEVER)
    return [*proven, *rough, str(promise)]


def _cut(threshold: float) -> float:
    """Infinite where the rule lets nothing raise an alarm."""
    return math.inf if threshold >= NEVER else threshold


def _setup(session: Session, frame: Frame, media: MediaFacts | None) -> Setup:
    config = session.config
    backbone = Profile.from_json(config.settings).backbone
    reading = () if frame.schema is None else frame.schema.columns
    columns = [(each.name, describe_kind(each), describe_features(each)) for each in reading]
    made_of = count(len(frame.columns), "column") if media is None else media.noun
    return Setup(config.origin, made_of, config.profile, config.seed, backbone, columns)


def _radius(embeddings: Floats, labels: Labels) -> float | None:
    labelled = np.flatnonzero(labels >= 0)
    return cover_radius(embeddings, labelled) if len(labelled) else None


def _queries(state: SessionState) -> list[AnsweredItem]:
    """Answered items in the order of their rounds, each in the round that its answer belongs to."""
    queries, seen = [], set[str]()
    for drawn in reversed(state.rounds):
        for draw in reversed(drawn.draws):
            answer = state.answers.get(draw.item)
            here = state.round_of(draw.item) in (0, drawn.number)
            if answer is not None and here and draw.item not in seen:
                seen.add(draw.item)
                queries.append(AnsweredItem(draw.item, answer.verdict, draw.score, drawn.number, draw.odds))
    return queries[::-1]


def _top(
    ids: Sequence[str],
    scores: Floats,
    alarms: np.ndarray,
    labels: Labels,
    frame: Frame,
    kept: Kept,
    media: MediaFacts | None,
) -> list[TopItem]:
    rows = np.argsort(-scores, kind="stable")[:N_TOP]
    return [
        TopItem(
            ids[row],
            float(scores[row]),
            rank,
            Label(labels[row]).word,
            bool(alarms[row]),
            _standouts(frame, int(row)) if media is None else [],  # the time of a frame does not stand out
            _say_why(kept, ids[row]),
            None if media is None else media.show(ids[row]),
        )
        for rank, row in enumerate(rows, start=1)
    ]


def _in_common(kept: Kept, state: SessionState) -> list[str]:
    summary = kept["patterns"]
    if summary is None or not summary["n_alarms"]:
        return []
    return [*say_common(summary), *(say_pattern(pattern, state.labels) for pattern in summary["patterns"])]


def _say_why(kept: Kept, item: str) -> list[str]:
    found = find_why(kept, item)
    return [] if found is None else [str(found)]


def _standouts(frame: Frame, row: int) -> list[Standout]:
    """The columns of numbers in which this item lies farthest from the middle, in units of their spread."""
    numbers = {name: column for name, column in frame.columns.items() if column.dtype == np.float64}
    distances = {name: _distance(column, row) for name, column in numbers.items()}
    widest = sorted(distances, key=lambda name: -distances[name])[:N_STANDOUTS]
    return [
        Standout(name, float(numbers[name][row]), float(np.nanmedian(numbers[name])))
        for name in widest
        if distances[name] > 1
    ]


def _distance(column: Values, row: int) -> float:
    if np.isnan(column[row]):
        return 0.0
    low, middle, high = np.nanquantile(column, (0.25, 0.5, 0.75))
    spread = (high - low) or float(np.nanstd(column)) or 1.0
    return abs(float(column[row] - middle)) / spread


def _next_steps(session: Session, state: SessionState) -> list[str]:
    folder = session.folder.path.name
    steps = [] if state.fit_is_current else [f"Answers or data came in after this fit: run `soel fit {folder}`."]
    if state.open:
        steps.append(f"{len(state.open)} questions are open: run `soel ask {folder}` and fill in the sheet.")
    elif state.n_left:
        steps.append(f"{state.n_left} labels of the budget are left: run `soel ask {folder}` for another round.")
    return [*steps, f"Scores of all items: run `soel score {folder}`."]
