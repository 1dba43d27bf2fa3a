"""What was found: the kept outcome of the last fit, without torch; while people label, how the estimate moves."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from starlette.responses import Response

from soel.assess.threshold import NEVER, parse_threshold
from soel.errors import SessionError, SoelError
from soel.report.facts import lead
from soel.report.outcome import Outcome, has_outcome, read_outcome
from soel.report.quality_words import foreseen_words, quality_words, unsure_words
from soel.report.reasons import read_reasons
from soel.report.view import Alarms, Histogram, InCommon
from soel.scoring.score_table import ScoreTable, labels_by_item
from soel.session import Session, SessionState
from soel.session.pool_records import NEWEST, judge_moves
from soel.session.rounds import label_vector
from soel.session.score_file import name_items
from soel.text import Texts
from soel.types import Estimate, Floats
from soel.web.auth import User
from soel.web.schemas import ResultsView, ShareEstimate
from soel.web.sentences import advice_words
from soel.web.view_model import ViewModel

Form = Literal["csv", "json", "xlsx"]
TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


class Findings:
    """Reads the outcome once per fit; a page that is opened again costs nothing."""

    def __init__(self, view_model: ViewModel) -> None:
        self._view_model = view_model
        self._held: tuple[tuple[str, int], Outcome] | None = None

    def outcome(self, state: SessionState | None = None) -> Outcome:
        """What was kept of the last fit."""
        state = state or self._view_model.session.state
        if state.fit is None:
            raise SessionError("There are no results yet; label the open items first.")
        seen = (state.fit.model.fingerprint, state.pool.number)
        if self._held is None or self._held[0] != seen:
            outcome = read_outcome(self._view_model.session)
            if outcome is None:
                raise SessionError("The results of the last training are still being prepared; try again in a moment.")
            self._held = (seen, outcome)
        return self._held[1]

    def latest(self) -> Outcome | None:
        """What was kept of the last fit, where there is anything."""
        state = self._view_model.session.state
        return self.outcome(state) if state.fit is not None and has_outcome(self._view_model.session) else None

    def view(self, user: User, t: Texts) -> ResultsView:
        """Everything about the last fit but the single items."""
        session = self._view_model.session
        state = session.state
        outcome, seen, estimate = self.outcome(state), self._view_model.view_for(user, state), state.estimate
        assert estimate is not None  # every fit stores its estimate first
        effect = None if state.fit is None else state.fit.named
        labels, cut, quality = label_vector(seen, session.ids), outcome.threshold, session.quality()
        line = lead(session, outcome, labels)
        return ResultsView(
            cut,
            replace(line, share=replace(line.share, diagnostics={})),  # these may be no numbers, and are for the report
            Histogram.of(outcome.scores, labels, cut),
            InCommon.of(self.alarms(user, t)),
            t.say(parse_threshold(session.config.threshold).promise(can_alarm=cut < NEVER)),
            [] if quality is None else quality_words(quality, t),
            foreseen_words(outcome.scores > cut, labels, t),
            unsure_words(outcome.count_unsure(labels, estimate), estimate, t),
            [*advice_words(session.stopping_advice(), t), *([] if effect is None else [t.say(effect.message)])],
        )

    def alarms(self, user: User, t: Texts, threshold: float | None = None) -> Alarms:
        """The records of items, as this user may see them."""
        session, items = self._view_model.session, self._view_model.items
        seen, outcome, kept = self._view_model.view_for(user), self.latest(), read_reasons(session)
        kind = items.kind(session.ids[0])
        return Alarms(session.ids, seen, outcome, kept, items.title, {}, t, kind, threshold)

    def arrays(self) -> bytes:
        """x, y, score and probability of every item, one after the other, as little-endian float32."""
        outcome = self.outcome()
        parts: list[Floats] = [*outcome.points.T, outcome.scores, outcome.probabilities]
        return b"".join(np.ascontiguousarray(part, "<f4").tobytes() for part in parts)

    def file(self, suffix: str, threshold: float | None) -> bytes:
        """Scores, ranks and alarms of all items as a CSV or Parquet file."""
        session = self._view_model.session
        state, outcome = session.state, self.outcome()
        assert state.estimate is not None
        cut = outcome.threshold if threshold is None else threshold
        scored = outcome.scored(session.ids, cut, state.estimate)
        return write_to_bytes(suffix, ScoreTable.of(scored, name_items(session), labels_by_item(state)).write)


def as_download(name: str, content: bytes) -> Response:
    """Bytes as a file that the browser stores; its suffix says what it is."""
    media_type = TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=media_type, headers={"content-disposition": f'attachment; filename="{name}"'})


def write_to_bytes(suffix: str, write: Callable[[Path], object]) -> bytes:
    """What a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        write(path)
        return path.read_bytes()


MOST_POINTS = 100
SAID = {"yes": "insight.moving", "little": "insight.settled", "unknown": "insight.early"}


class Insight:
    """Estimates the share of anomalies after each answer, from the stored rounds, without a model.

    The estimates of this server's lifetime are kept, so that the page can show how they move.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._lock = session, threading.Lock()
        self._pool, self._digest = 0, ""
        self._points: list[ShareEstimate] = []

    def points(self, state: SessionState) -> tuple[ShareEstimate, ...]:
        """The estimates so far, oldest first; none where the owner gave the share."""
        if self.given is not None:
            return ()
        with self._lock:
            if state.pool.number != self._pool:
                self._pool, self._digest, self._points = state.pool.number, "", []
            if state.labels and state.labels_digest != self._digest:
                estimate = self._estimate(state)
                self._digest = state.labels_digest
                if estimate is not None:
                    point = ShareEstimate(len(state.labels), estimate.value, estimate.low, estimate.high)
                    older = [each for each in self._points if each.n_labels < point.n_labels]  # an undo goes back
                    self._points = [*older, point][-MOST_POINTS:]
            return tuple(self._points)

    @property
    def given(self) -> float | None:
        """The share that the owner gave, which no answer changes."""
        return self._session.config.contamination

    def _estimate(self, state: SessionState) -> Estimate | None:
        from soel.assess import ESTIMATORS

        settings = self._session.config.settings
        try:
            estimate: Estimate = ESTIMATORS.create(settings["contamination"]).estimate(self._session.evidence(state))
        except (SoelError, KeyError):
            return None
        return estimate


def insight_words(
    points: tuple[ShareEstimate, ...], seen: SessionState, t: Texts, given: float | None = None
) -> list[str]:
    """What was found, what is estimated or given, and the advice, in sentences."""
    n_labels = len(seen.labels)
    if not n_labels:
        return [t("insight.nothing")]
    found = t("count.anomalies", n=seen.n_anomalies)
    words = [t("insight.found", found=found, n=n_labels)]
    if given is not None:
        advice = [] if seen.n_anomalies else [t("insight.none_found")]
        return [*words, t("insight.given", share=t.percent(given)), *advice]
    if points:
        now = points[-1]
        words.append(t("insight.share", share=t.percent(now.value), low=t.percent(now.low), high=t.percent(now.high)))
    return [*words, _advice(points, seen, t)]


def _advice(points: tuple[ShareEstimate, ...], seen: SessionState, t: Texts) -> str:
    if not seen.n_anomalies:
        return t("insight.none_found")
    n_labels = len(seen.labels)
    older = [each for each in points if each.n_labels <= n_labels - n_labels // NEWEST]
    if not older:
        return t("insight.early")
    now = points[-1]
    moved, doubt = abs(now.value - older[-1].value), (now.high - now.low) / 2
    return t(SAID[judge_moves(n_labels, seen.n_anomalies, now.value, doubt, moved)])
