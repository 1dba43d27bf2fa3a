"""From a folder to a running endpoint: loads, listens, looks for newer models, drains when it is stopped."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import uvicorn

from soel.errors import SessionError, SoelError
from soel.model_folder import read_manifest
from soel.serve.endpoint import Desk, create_endpoint
from soel.serve.gate import Access
from soel.serve.meters import Meters
from soel.serve.micro_batch import MicroBatches
from soel.serve.served import ServedModel
from soel.serve.session_link import SessionLink
from soel.session import Session
from soel.session.create import open_session
from soel.web.launch import Address, bind_address, settings

LOOK_EVERY = 5.0  # seconds between two looks for a newer model
DRAIN_SECONDS = 30
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
    return Desk(served, batches, Meters(served, link.count_waiting), link)


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
