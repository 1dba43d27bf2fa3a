"""From a folder to a running endpoint: loads, listens, looks for newer models, drains when it is stopped."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from soel.errors import DataError, SessionError, SoelError, StorageError
from soel.model_folder import read_manifest
from soel.report.reasons import SessionExplainer, tabulate_reasons
from soel.serve.endpoint import Desk, FeedbackIn, create_endpoint
from soel.serve.gate import Access
from soel.serve.meters import Meters
from soel.serve.micro_batch import MicroBatches
from soel.serve.served import Batch, ServedModel, Verdicts
from soel.session import Answer, Session, read_verdict
from soel.session.create import open_session
from soel.session.feedback import Alarm, keep_alarms, record_feedback
from soel.tables.raw_table import EXACT, RawColumn
from soel.web.launch import Address, bind_address, settings

LOOK_EVERY = 5.0  # seconds between two looks for a newer model
DRAIN_SECONDS = 30
MOST_EXPLAINED = 20  # alarms of one request
_LOG = logging.getLogger("soel.serve")


def serve_model(
    place: Path, address: Address, is_open: bool, announce: Callable[[str, str], None], store: str | None = None
) -> None:
    """Serve a session or a model folder until stopped. announce: called with the address and the token, once."""
    with ExitStack() as leaving:
        session = None
        if (place / "config.json").is_file():
            session = leaving.enter_context(closing(open_session(place, store)))
        listener = leaving.enter_context(closing(bind_address(address)))
        port = int(listener.getsockname()[1])
        access = Access.choose(address.host, port, is_open)
        desk = open_desk(place, session, leaving)
        config = settings(create_endpoint(desk, access), address)
        config.timeout_graceful_shutdown = DRAIN_SECONDS
        looking = Looking(place, session, desk)
        leaving.callback(looking.stop)
        looking.start()
        listener.listen(512)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # after it has drained, uvicorn raises it again
        announce(f"{address.scheme}://{address.host}:{port}", access.token)
        uvicorn.Server(config).run(sockets=[listener])


def open_desk(place: Path, session: Session | None, leaving: ExitStack) -> Desk:
    """What the routes share, with the newest model loaded."""
    served, batches = load_newest(place, session), MicroBatches()
    leaving.callback(batches.close)
    if session is None:
        return Desk(served, batches, Meters(served, lambda: None))
    link = SessionLink(session)
    return Desk(served, batches, Meters(served, link.count_waiting), link.explain, link.keep, link.tell)


def newest_folder(place: Path, session: Session | None) -> Path:
    """The folder of the model that should be served by now."""
    if session is None:
        return place
    fit = session.state.fit
    if fit is None:
        raise SessionError(f"The session in {place} has no fitted model yet; run `soel fit {place}` first.")
    return place / fit.model.folder


def load_newest(place: Path, session: Session | None) -> ServedModel:
    """The model that should be served by now, loaded."""
    return ServedModel.load(newest_folder(place, session), None if session is None else session.config)


@dataclass
class SessionLink:
    """What the session of a served model does: it keeps alarms and answers, and explains."""

    session: Session
    _explaining: threading.Lock = field(default_factory=threading.Lock)
    _explainer: tuple[str, SessionExplainer] | None = None

    def count_waiting(self) -> int:
        """Labels that the last fit has not learnt from."""
        state = self.session.state
        return len(state.labels) + len(state.waiting) - (0 if state.fit is None else state.fit.n_labels)

    def tell(self, given: FeedbackIn) -> dict[str, Any]:
        """Store one answer."""
        answer = Answer(given.id, read_verdict(given.label), given.note)
        stored = record_feedback(self.session, [(given.who, answer)])
        return {"id": given.id, "stored": stored.n_stored, "labels_waiting": self.count_waiting()}

    def keep(self, served: ServedModel, batch: Batch, verdicts: Verdicts) -> None:
        """Keep the rows of alarms; where nothing can be written, scores are given all the same."""
        rows, at = np.flatnonzero(verdicts["alarm"]), datetime.now(UTC).isoformat(timespec="seconds")
        names = batch.raw.cells if batch.raw.named else served.saved.encoder.how.by_name
        cells = {name: _texts(column.take(rows)) for name, column in zip(names, batch.raw.cells.values(), strict=True)}
        given = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        said = zip(rows.tolist(), given, verdicts["score"][rows].tolist(), strict=True)
        alarms = [Alarm(batch.ids[row], own, score, served.version, at) for row, own, score in said]
        try:
            keep_alarms(self.session.folder, alarms)
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
            for row, text in zip(rows, tabulate_reasons(found, np.arange(len(rows)), len(rows))["why"], strict=True):
                why[row] = text
        return why

    def _explainer_of(self, served: ServedModel) -> SessionExplainer:
        if self._explainer is None or self._explainer[0] != served.version:
            ref, model = self.session.fitted()
            if ref.fingerprint != served.version:
                raise DataError(
                    "The session has a newer model, which will be served in a moment; ask for reasons then."
                )
            self._explainer = served.version, SessionExplainer.of(self.session, model)
        return self._explainer[1]


def _texts(cells: RawColumn) -> list[str | None]:
    """Cells as text that reads back as the same value."""
    if cells.type != "number":
        return list(cells.as_words())
    values = [None if value != value else value for value in cells.values.tolist()]
    return [None if v is None else str(int(v)) if v.is_integer() and abs(v) < EXACT else repr(v) for v in values]


class Looking(threading.Thread):
    """Looks for a newer model and loads it beside the one that is served; one that cannot be loaded changes nothing."""

    def __init__(self, place: Path, session: Session | None, desk: Desk, every: float = LOOK_EVERY) -> None:
        super().__init__(name="looking", daemon=True)
        self._place, self._session, self._desk, self._every = place, session, desk, every
        self._over, self._tried = threading.Event(), ""

    def run(self) -> None:
        """Look until stopped."""
        while not self._over.wait(self._every):
            self.look()

    def look(self) -> None:
        """Load what is newer, if anything is; what was refused once is not tried again."""
        try:
            newest = str(read_manifest(newest_folder(self._place, self._session))["fingerprint"])
            if newest not in (self._desk.served.version, self._tried):
                self._tried = newest
                self._desk.replace(load_newest(self._place, self._session))
        except (SoelError, OSError) as error:
            self._desk.meters.failed_loads.inc()
            _LOG.warning("the newer model is not served: %s", error)

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self.join()
