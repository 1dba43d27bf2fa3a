"""What the session of a served model does: it keeps alarms and answers, and explains."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field

from soel.errors import DataError, StorageError
from soel.explain import Explainer
from soel.report.reasons import make_explainer
from soel.serve.served import Batch, ServedModel, Verdicts
from soel.session import Answer, Session, read_verdict
from soel.session.alarms import keep_served
from soel.session.events import read_names
from soel.session.feedback import record_feedback
from soel.session.refit import count_new_labels
from soel.tables.raw_table import EXACT, RawColumn

MOST_EXPLAINED = 20  # alarms of one request
_LOG = logging.getLogger("soel.serve")


class FeedbackIn(BaseModel):
    """What somebody says about an item."""

    id: Annotated[str, Field(min_length=1, max_length=500)]
    label: Annotated[str, Field(max_length=20, description="anomaly, normal, skip or unsure")]
    who: Annotated[str, Field(min_length=1, max_length=100)] = "expert"
    note: Annotated[str, Field(max_length=2000)] | None = None
    because: Annotated[list[str], Field(max_length=100, description="the columns that are why")] | None = None


@dataclass
class SessionLink:
    """What the session of a served model does: it keeps alarms and answers, and explains."""

    session: Session
    _explaining: threading.Lock = field(default_factory=threading.Lock)
    _explainer: tuple[str, Explainer] | None = None

    def count_waiting(self) -> int:
        """Labels that the last fit has not learnt from."""
        return count_new_labels(self.session.state)

    def tell(self, given: FeedbackIn) -> dict[str, Any]:
        because = None if given.because is None else read_names(given.because)
        answer = Answer(given.id, read_verdict(given.label), given.note, because=because)
        stored = record_feedback(self.session, [(given.who, answer)])
        return {"id": given.id, "stored": stored.n_stored, "labels_waiting": self.count_waiting()}

    def keep(self, served: ServedModel, batch: Batch, verdicts: Verdicts, whys: list[str | None] | None) -> None:
        """Keep the rows of alarms; where nothing can be written, scores are given all the same."""
        rows, at = np.flatnonzero(verdicts["alarm"]), datetime.now(UTC).isoformat(" ", "seconds").removesuffix("+00:00")
        names = batch.raw.cells if batch.raw.named else served.saved.encoder.how.by_name
        cells = {name: _texts(column.take(rows)) for name, column in zip(names, batch.raw.cells.values(), strict=True)}
        kept = [
            {
                "alarm_id": batch.ids[row],
                "input": at,
                "row": row + 1,
                "name": batch.ids[row],
                **{name: float(verdicts[name][row]) for name in ("score", "probability", "p_value")},
                "alarm": True,
                **dict.fromkeys(("drawn", "sampled", "outside"), False),
                "group": "",
                "why": (whys[row] if whys else None) or "",
                "model": served.version,
                "cells": json.dumps(dict(zip(cells, own, strict=True))),
                "features": batch.features[row].tolist(),
            }
            for row, own in zip(rows.tolist(), zip(*cells.values(), strict=True), strict=True)
        ]
        try:
            keep_served(self.session.folder, kept)
        except StorageError as error:
            _LOG.warning("alarms are not kept: %s", error)

    def explain(self, served: ServedModel, batch: Batch, verdicts: Verdicts) -> list[str | None]:
        """Why rows are alarms, of the highest ones of a request; None for all others."""
        why: list[str | None] = [None] * len(batch)
        order = np.argsort(-verdicts["score"], kind="stable")
        rows = order[verdicts["alarm"][order]][:MOST_EXPLAINED]
        if len(rows):
            with self._explaining:
                found = self._explainer_of(served).explain(batch.frame.take(rows), batch.features[rows])
            for row, each in zip(rows, found, strict=True):
                why[row] = str(each)
        return why

    def _explainer_of(self, served: ServedModel) -> Explainer:
        if self._explainer is None or self._explainer[0] != served.version:
            ref, model = self.session.fitted()
            if ref.fingerprint != served.version:
                raise DataError(
                    "The session has a newer model, which will be served in a moment; ask for reasons then."
                )
            self._explainer = served.version, make_explainer(self.session, model)
        return self._explainer[1]


def _texts(cells: RawColumn) -> list[str | None]:
    """Cells as text that reads back as the same value."""
    if cells.type != "number":
        return list(cells.as_words())
    values = [None if value != value else value for value in cells.values.tolist()]
    return [None if v is None else str(int(v)) if v.is_integer() and abs(v) < EXACT else repr(v) for v in values]
