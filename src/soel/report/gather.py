"""The facts of a session's report: gathered from its events, its newest model and its items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soel.assess.metrics import cover_radius
from soel.assess.threshold import NEVER, parse_threshold
from soel.errors import SessionError
from soel.explain import Reason, RowExplanation
from soel.explain.words import chip, say_common, say_pattern, say_reason, say_row
from soel.report import page
from soel.report.facts import AnsweredItem, Chip, Picture, PoolFacts, ReportFacts, Setup, Strip, Threshold, TopItem
from soel.report.projection import fit_plane, project
from soel.report.quality_words import NO_CHECK, quality_lines, rough_lines
from soel.report.reasons import Kept, explain_session, find_why
from soel.scoring.clips import name_intervals
from soel.scoring.score_table import name_pictures
from soel.session import Session, SessionState
from soel.session.draw import label_vector
from soel.session.item_tables import read_items
from soel.session.media import SessionMaps, SessionMedia, open_media
from soel.settings import Profile
from soel.tables.frame import Frame
from soel.tables.table_schema import describe_features, describe_kind
from soel.text import count
from soel.types import Label

if TYPE_CHECKING:
    from soel.model import Fitted

N_TOP = 20
SMALL = 256  # pixels: the longest side of a picture in a report


def write_report(session: Session, out: Path) -> Path:
    """Write the session's report as one HTML page."""
    return page.write_report(gather_report(session), Path(out))


def gather_report(session: Session) -> ReportFacts:
    """Everything that the page about the session's last fit shows."""
    state, config = session.state, session.config
    if state.fit is None:
        raise SessionError("There is no fitted model to report on yet; fit first.")
    place, media = session.folder_with(state.pools), open_media(session.folder)
    frame, kept = read_items(session.folder).frame, explain_session(session)
    model: Fitted = session.load_fit(state)
    scores, embeddings = session.learner.look(model, session.pool_in(place))
    plane = fit_plane(embeddings, np.random.default_rng(config.seed))
    alarms, labels = model.alarms(scores), label_vector(state, place.ids)
    labelled = np.flatnonzero(labels >= 0)
    names, quality = _name_items(place.ids, media), session.status().quality
    pool = PoolFacts([names[item] for item in place.ids], scores, labels, project(embeddings, plane), plane.spread)
    top = _Top(session, model, kept, media, frame)
    order = np.argsort(-scores, kind="stable")[:N_TOP]
    in_common = kept["patterns"] if kept["patterns"] and kept["patterns"]["n_alarms"] else None
    return ReportFacts(
        title=f"Anomalies in {session.title}",
        created=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        setup=_setup(session, frame, media),
        pool=pool,
        contamination=model.estimate,
        threshold=Threshold(
            model.threshold if model.threshold < NEVER else math.inf, config.threshold, int(alarms.sum())
        ),
        fitted=state.fit.at[:10],
        real_alarms=None if quality is None else (quality.real_alarms.low, quality.real_alarms.high),
        n_checked=0 if quality is None else quality.n_checked,
        cover_radius=cover_radius(embeddings, labelled) if len(labelled) else None,
        history=model.history,
        queries=[replace(query, item=names[query.item]) for query in _queries(state)],
        top=[
            replace(top.show(place.ids[row], float(scores[row]), rank, labels[row]), item=names[place.ids[row]])
            for rank, row in enumerate(order.tolist(), start=1)
        ],
        next_steps=_next_steps(session, state),
        promises=_promises(session, model),
        in_common=[] if in_common is None else say_common(in_common),
        patterns=[] if in_common is None else [say_pattern(each, state.labels) for each in in_common["patterns"]],
        events=() if media is None else name_intervals(name_pictures(media.items), scores, alarms),
    )


class _Top:
    """Shows the items with the highest scores: with their reasons, or their pictures."""

    def __init__(self, session: Session, model: Fitted, kept: Kept, media: SessionMedia | None, frame: Frame) -> None:
        self._state, self._model, self._kept, self._media, self._frame = session.state, model, kept, media, frame
        self._maps = None if media is None else SessionMaps(session)

    def show(self, item: str, score: float, rank: int, label: int) -> TopItem:
        """One of them."""
        why, other = find_why(self._kept, item), self._kept["resembles"].get(item)
        of_it = np.array([score])
        known = "" if other not in self._state.labels else self._state.labels[other].word
        return TopItem(
            item,
            score,
            rank,
            Label(label).word,
            bool(self._model.alarms(of_it)[0]),
            float(self._model.probabilities(of_it)[0]),
            [] if why is None else self._chips(why),
            "" if why is None else say_row(why, brief=True),
            "" if why is None else str(why),
            f"Of what is labelled it is most like {other}, {known}." if known else "",
            self._picture(item),
        )

    def _chips(self, why: RowExplanation) -> list[Chip]:
        """Those of an alarm; what would make another one an alarm is said in words only."""
        if not why.is_alarm:
            return []
        return [Chip(chip(each), say_reason(each), self._strip(each)) for each in why.reasons]

    def _strip(self, reason: Reason) -> Strip | None:
        """How the first of its columns lies, where that holds numbers."""
        column = self._frame.columns.get(reason.columns[0])
        if column is None or column.dtype != np.float64:
            return None
        try:
            return Strip.of(column, float(reason.values[0]), float(reason.usual[0]))
        except ValueError:  # a cell that is missing
            return None

    def _picture(self, item: str) -> Picture | None:
        if self._media is None or self._maps is None:
            return None
        values = self._maps.of(item)
        content = self._media.thumbnail(item) if values is None else self._media.mapped(item, SMALL, values)
        return Picture(content, values is not None)


def _name_items(ids: Sequence[str], media: SessionMedia | None) -> dict[str, str]:
    """What each item is called: its picture's name, with its id where two have the same; the id of a row."""
    known = {} if media is None else {item.id: item.name for item in media.items}
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


def _setup(session: Session, frame: Frame, media: SessionMedia | None) -> Setup:
    config = session.config
    backbone = Profile.from_json(config.settings).backbone
    reading = () if frame.schema is None else frame.schema.columns
    columns = [(each.name, describe_kind(each), describe_features(each)) for each in reading]
    made_of = count(len(frame.columns), "column")
    if media is not None:
        made_of = "frames" if any(item.clip for item in media.items) else "pictures"
    return Setup(config.origin, made_of, config.profile, config.seed, backbone, columns)


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
