"""What the results page shows: read from the kept outcome of the last fit, without torch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from starlette.responses import Response

from soel.assess.conformal import UnsureBand
from soel.assess.quality import Stratum, widest_intervals
from soel.errors import SessionError
from soel.report.outcome import Outcome, has_outcome, read_outcome
from soel.scoring.score_table import ScoreTable, labels_by_item
from soel.session import SessionState
from soel.session.draw import label_vector
from soel.session.scores import name_items
from soel.types import ANOMALY, UNLABELLED, Estimate, Floats, Labels
from soel.web.view import ViewModel

Form = Literal["csv", "json", "xlsx"]
TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@dataclass(frozen=True)
class FitResults:
    """The last fit on the whole pool."""

    state: SessionState
    outcome: Outcome
    estimate: Estimate
    ids: Sequence[str]

    @cached_property
    def labels(self) -> Labels:
        """Of every item: (N,) of 1, 0, -1."""
        return label_vector(self.state, self.ids)

    def foresee(self, n: int) -> tuple[float, float]:
        """How wide a spot check of `n` items can leave the ranges of the share and of the share of real alarms."""
        is_alarm, is_known = self.outcome.scores > self.outcome.threshold, self.labels != UNLABELLED

        def stratum(side: np.ndarray) -> Stratum:
            known = self.labels[side & is_known]
            return Stratum(int(side.sum()), len(known), int((known == ANOMALY).sum()))

        return widest_intervals(n, stratum(is_alarm), stratum(~is_alarm))

    def count_unsure(self) -> tuple[int, int]:
        """How many items without a label are not sure, among the alarms and among the others."""
        scores = self.outcome.scores
        unsure = self.unsure.holds(scores) & (self.labels == UNLABELLED)
        is_alarm = scores > self.outcome.threshold
        return int((unsure & is_alarm).sum()), int((unsure & ~is_alarm).sum())

    @property
    def unsure(self) -> UnsureBand:
        """Scores of items that are not sure."""
        return self.outcome.unsure(self.estimate)


class Results:
    """Reads the outcome once per fit; a page that is opened again costs nothing."""

    def __init__(self, view_model: ViewModel) -> None:
        self._view_model = view_model
        self._held: tuple[tuple[str, int], Outcome] | None = None

    def findings(self) -> FitResults:
        """Everything about the last fit."""
        state = self._view_model.session.state
        outcome = self.outcome(state)
        assert state.estimate is not None  # every fit stores its estimate first
        return FitResults(state, outcome, state.estimate, self._view_model.session.ids)

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

    def arrays(self) -> bytes:
        """x, y, score and probability of every item, one after the other, as little-endian float32."""
        outcome = self.outcome()
        parts: list[Floats] = [*outcome.points.T, outcome.scores, outcome.probabilities]
        return b"".join(np.ascontiguousarray(part, "<f4").tobytes() for part in parts)

    def file(self, suffix: str, threshold: float | None) -> bytes:
        """Scores, ranks and alarms of all items as a CSV or Parquet file."""
        findings, session = self.findings(), self._view_model.session
        outcome = findings.outcome
        cut = outcome.threshold if threshold is None else threshold
        scored = outcome.scored(session.ids, cut, findings.estimate)
        table = ScoreTable.of(scored, name_items(session), labels_by_item(findings.state))
        return write_to_bytes(suffix, table.write)


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
