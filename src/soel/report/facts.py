"""Everything the report shows as plain values, gathered from a session's events, its newest model and its items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from soel.assess.threshold import NEVER, parse_threshold
from soel.errors import SessionError
from soel.report.outcome import Outcome, look_at_pool, read_outcome
from soel.report.quality_words import NO_CHECK, quality_words, unsure_words
from soel.report.reasons import explain_session
from soel.report.view import AlarmLine, Alarms, FactLine, Histogram, InCommon, Picture
from soel.scoring.score_table import name_intervals, name_pictures
from soel.session import Session, SessionState
from soel.session.item_tables import read_items
from soel.session.pictures import SessionMaps, SessionMedia, open_media
from soel.session.rounds import label_vector
from soel.settings import Profile
from soel.tables.frame import Frame
from soel.tables.schema import describe_features, describe_kind
from soel.text import count
from soel.types import ANOMALY, NORMAL, Floats, Interval, Labels, Rows

N_TOP = 20
SMALL = 256  # pixels: the longest side of a picture in a report
MOST_POINTS = 20_000
ALWAYS_SHOWN = 200  # the highest scores are never left out by the sample


@dataclass(frozen=True)
class Setup:
    """How the result was made. data: its name. rule: of the threshold.

    columns: the name of each column, how it was read and what it became.
    """

    data: str
    profile: str
    seed: int
    backbone: str
    rule: str
    columns: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True)
class ItemMap:
    """The pool from above: names (N,), points (N, 2), scores (N,), labels (N,) of 1, 0, -1."""

    names: Sequence[str]
    points: Floats
    scores: Floats
    labels: Labels

    def shown(self, rng: np.random.Generator, most: int = MOST_POINTS) -> Rows:
        """All rows, or a sample with every labelled item and the highest scores."""
        rows = np.argsort(self.scores, kind="stable")
        if len(rows) <= most:
            return rows
        kept = self.labels >= 0
        kept[rows[-ALWAYS_SHOWN:]] = True
        kept[rng.choice(np.flatnonzero(~kept), max(0, most - int(kept.sum())), replace=False)] = True
        return rows[kept[rows]]


@dataclass(frozen=True)
class AnsweredItem:
    """One query, with the score and the odds of being drawn that it had when it was asked.

    answer: 'normal', 'anomaly', or what else was said.
    """

    item: str
    answer: str
    score: float
    round: int = 1
    odds: float | None = None


@dataclass(frozen=True)
class MethodResult:
    """One row of a comparison, where the truth is known."""

    method: str
    auroc: float
    f1: float


@dataclass(frozen=True)
class ReportFacts:
    """The whole report.

    history[epoch][member]: training losses. queries: in the order asked. promises: what the numbers rest on;
    next_steps: one sentence each, text in `backticks` is set as code. events: alarms of clips, the highest first.
    pictures: by item. has_maps: whether unusual places are drawn over them.
    """

    title: str
    created: str
    setup: Setup
    line: FactLine
    histogram: Histogram
    map: ItemMap
    alarms: Sequence[AlarmLine] = ()
    in_common: InCommon = field(default_factory=InCommon)
    events: Sequence[Interval] = ()
    promises: Sequence[str] = ()
    queries: Sequence[AnsweredItem] = ()
    comparison: Sequence[MethodResult] = ()
    history: Sequence[Sequence[float]] = ()
    next_steps: Sequence[str] = ()
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    has_maps: bool = False


def gather_report(session: Session) -> ReportFacts:
    """Everything that the page about the session's last fit shows."""
    state = session.state
    if state.fit is None:
        raise SessionError("There is no fitted model to report on yet; fit first.")
    outcome = read_outcome(session) or look_at_pool(session)
    place, media = session.folder_with(state.pools), open_media(session.folder)
    frame, model = read_items(session.folder).frame, session.load_fit(state)
    labels, names = label_vector(state, place.ids), _name_items(place.ids, media)
    alarms = Alarms(
        place.ids, state, outcome, explain_session(session), lambda item: names.get(item, item), frame.columns
    )
    top = np.argsort(-outcome.scores, kind="stable")[:N_TOP].tolist()
    made_of = count(len(frame.columns), "column")
    if media is not None:
        made_of = "frames" if any(item.clip for item in media.items) else "pictures"
    is_alarm = outcome.scores > outcome.threshold
    return ReportFacts(
        title=f"Anomalies in {session.title}",
        created=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        setup=_setup(session, frame),
        line=replace(lead(session, outcome, labels), made_of=made_of),
        histogram=Histogram.of(outcome.scores, labels, outcome.threshold),
        map=ItemMap([names[item] for item in place.ids], outcome.points, outcome.scores, labels),
        alarms=[alarms.of(row) for row in top],
        in_common=InCommon.of(alarms),
        events=() if media is None else name_intervals(name_pictures(media.items), outcome.scores, is_alarm),
        promises=_promises(session, outcome.threshold),
        queries=[replace(query, item=names.get(query.item, query.item)) for query in _queries(state)],
        history=model.history,
        next_steps=_next_steps(session, state),
        **_draw_pictures(session, media, [place.ids[row] for row in top]),
    )


def lead(session: Session, outcome: Outcome, labels: Labels) -> FactLine:
    """What leads a report and the results page. labels: of the pool (N,), as far as the reader may know them."""
    state, quality = session.state, session.quality()
    assert state.fit is not None
    assert state.estimate is not None  # every fit stores its estimate first
    real = None if quality is None else (round(quality.real_alarms.low), round(quality.real_alarms.high))
    return FactLine(
        int((outcome.scores > outcome.threshold).sum()),
        outcome.threshold if outcome.threshold < NEVER else None,
        state.estimate,
        int((labels == ANOMALY).sum()),
        int((labels == NORMAL).sum()),
        len(labels),
        fitted=state.fit.at[:10],
        real=real,
        n_checked=0 if quality is None else quality.n_checked,
    )


def _draw_pictures(session: Session, media: SessionMedia | None, items: Sequence[str]) -> dict[str, Any]:
    """Small pictures of items, with unusual places drawn over them where they are known."""
    if media is None:
        return {}
    maps, pictures = SessionMaps(session), {}
    for item in items:
        values = maps.of(item)
        drawn = media.thumbnail(item) if values is None else media.mapped(item, SMALL, values)
        pictures[item] = Picture(drawn, "image/jpeg" if values is None else "image/png")
    return {"pictures": pictures, "has_maps": maps.has_any}


def _name_items(ids: Sequence[str], media: SessionMedia | None) -> dict[str, str]:
    """What each item is called: its picture's name, with its id where two have the same; the id of a row."""
    known = {} if media is None else {item.id: item.name for item in media.items}
    called = {item: known.get(item, item) for item in ids}
    counts = Counter(called.values())
    return {item: name if counts[name] == 1 else f"{name} ({item})" for item, name in called.items()}


def _promises(session: Session, threshold: float) -> list[str]:
    """What a spot check proves, what was not sure at the fit, and what is promised of the alarms."""
    status = session.status()
    proven = [NO_CHECK] if status.quality is None else quality_words(status.quality)
    promise = parse_threshold(session.config.threshold).promise(can_alarm=threshold < NEVER)
    if status.figures is None or status.estimate is None:
        return [*proven, str(promise)]
    return [*proven, unsure_words(status.figures.n_unsure, status.estimate), str(promise)]


def _setup(session: Session, frame: Frame) -> Setup:
    config = session.config
    backbone = Profile.from_json(config.settings).backbone
    reading = () if frame.schema is None else frame.schema.columns
    columns = [(each.name, describe_kind(each), describe_features(each)) for each in reading]
    return Setup(config.origin, config.profile, config.seed, backbone, config.threshold, columns)


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


def _next_steps(session: Session, state: SessionState) -> list[str]:
    folder = session.folder.path.name
    steps = [] if state.fit_is_current else [f"Answers or data came in after this fit: run `soel fit {folder}`."]
    if state.open:
        steps.append(f"{len(state.open)} questions are open: run `soel ask {folder}` and fill in the sheet.")
    elif state.n_left:
        steps.append(f"{state.n_left} labels of the budget are left: run `soel ask {folder}` for another round.")
    return [*steps, f"Scores of all items: run `soel score {folder}`."]
