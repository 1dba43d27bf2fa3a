"""While people label: what was found so far, how the estimate moves, and whether to go on."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from soel.errors import SoelError
from soel.session import Session, SessionState
from soel.text import Texts
from soel.types import Estimate

FEWEST = 8  # labels before anything is said about stopping
QUARTER = 4  # the newest part of the labels, one in so many, whose effect is looked at
MOST_POINTS = 100


@dataclass(frozen=True)
class ShareEstimate:
    """The estimated share of anomalies after so many labels, with its interval."""

    n_labels: int
    value: float
    low: float
    high: float


class Insight:
    """Estimates the share of anomalies after each answer, from the stored rounds, without a model.

    The estimates of this server's lifetime are kept, so that the page can show how they move.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._lock = session, threading.Lock()
        self._digest = ""
        self._points: list[ShareEstimate] = []

    def points(self, state: SessionState) -> tuple[ShareEstimate, ...]:
        """The estimates so far, oldest first; none where the owner gave the share."""
        if self.given is not None:
            return ()
        with self._lock:
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
    """A rule of thumb: settled is what the newest quarter of the labels moved by far less than the estimate's doubt."""
    if not seen.n_anomalies:
        return t("insight.none_found")
    older = [each for each in points if each.n_labels <= len(seen.labels) * (QUARTER - 1) // QUARTER]
    if len(seen.labels) < FEWEST or not older:
        return t("insight.early")
    now = points[-1]
    moved, doubt = abs(now.value - older[-1].value), (now.high - now.low) / 2
    return t("insight.settled" if moved < doubt / 4 and doubt < max(0.05, now.value) else "insight.moving")
