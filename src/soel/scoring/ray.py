"""Parts of a stream computed on the machines of a Ray cluster, by Ray Data: drawing a pool, and scoring.

Ray is imported when work begins. A part is computed in one task and its result
comes back to this process, which keeps it: so the machines need to reach the data, and no other place. A part whose
worker dies is computed again by another.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

from soel import errors
from soel.errors import ClusterLostError, ConfigError, SoelError
from soel.numeric import n_cores
from soel.types import Counted

LOOK_EVERY, PATIENCE = 2.0, 4  # seconds without a result before the head is asked, and how often it may be silent
UNLOGGED = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
LEAVE_AFTER = 30.0  # seconds for the parts at work, where something went wrong
QUIET = {  # Ray's own settings; what a user has set already is left alone
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class PartResult(Protocol):
    """What is computed of a part. n_rows: how many rows it had."""

    @property
    def n_rows(self) -> int:
        """How many rows the part has."""


Result = TypeVar("Result", bound=PartResult)
Work = Callable[[int, Counted], Result]  # the number of a part, and a callback with the rows done since its last call


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster. address: HOST:PORT of its head, None starts one on this machine for as long as work lasts.

    n_workers: parts computed at the same time; None takes one per core.
    """

    address: str | None = None
    n_workers: int | None = None

    def __post_init__(self) -> None:
        if self.n_workers is not None and self.n_workers < 1:
            raise ConfigError(f"At least one worker is needed, got <<workers={self.n_workers}>>.")

    def run(self, work: Work[Result], numbers: Sequence[int]) -> Iterator[Result]:
        """The results of these parts, in any order. The work is sent to the workers, so it must be picklable."""
        results: queue.Queue[Any] = queue.Queue(2)
        with self.connected() as head:
            stop = threading.Event()
            arguments = (work, numbers, self.n_workers, results, stop)
            thread = threading.Thread(target=_fill, args=arguments, daemon=True)
            thread.start()
            try:
                for _ in numbers:
                    yield _unpack(self._next(results, head))
            except ClusterLostError:  # Ray waits for its head for minutes, then ends the process
                raise
            except BaseException:
                stop.set()
                thread.join(LEAVE_AFTER)
                raise
            thread.join(LEAVE_AFTER)

    @contextmanager
    def connected(self) -> Iterator[str]:
        """Join the cluster, or start one here, for a block; yields host and port of its head."""
        ray, folder = import_ray(), None
        if ray.is_initialized():  # by the caller, who ends it
            yield str(ray.get_runtime_context().gcs_address)
            return
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            if self.address is None:
                # For this account alone, unlike Ray's own. Names of sockets may have about a hundred characters.
                place = os.environ.get("RAY_TMPDIR") or ("/tmp" if os.name == "posix" else None)
                folder = tempfile.mkdtemp(prefix="soel-ray-", dir=place)
                _start(ray, self.n_workers or n_cores(), folder)
            else:
                if self.address != "auto":
                    _knock(self.address)
                ray.init(address=self.address, **UNLOGGED)
            yield str(ray.get_runtime_context().gcs_address)
        except (OSError, ValueError, RuntimeError) as error:
            if ray.is_initialized():
                raise
            reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
            raise ConfigError(
                f"There is no Ray cluster at {self.address or 'this machine'} ({reason}). Give the HOST:PORT that "
                "`ray start --head` has printed, or leave the address out to use this machine alone."
            ) from error
        except ClusterLostError:
            ray = None  # it would wait for its head
            raise
        finally:
            if ray is not None:
                ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _next(self, results: queue.Queue[Any], head: str) -> Any:
        """The next result; an error where the head is lost meanwhile."""
        n_silent = 0
        while n_silent < PATIENCE:
            with suppress(queue.Empty):
                return results.get(timeout=LOOK_EVERY)
            try:
                _knock(head)
                n_silent = 0
            except OSError:
                n_silent += 1
        where = f":{self.address}" if self.address else ""
        raise ClusterLostError(
            f"The head of the Ray cluster ({head}) does not answer any more. Nothing stored is lost: start the "
            f"cluster again and run the same command with <<engine=ray{where}>>; it goes on from what is stored."
        )


def run_parts(
    cluster: Cluster | None, work: Work[Result], numbers: Sequence[int], on_rows: Counted | None = None
) -> Iterator[Result]:
    """The results of these parts: computed here in order, or on a cluster in any order.

    on_rows: called with the number of rows done by now.
    """
    done = 0

    def tell(n_rows: int) -> None:
        nonlocal done
        done += n_rows
        if on_rows is not None:
            on_rows(done)

    if cluster is None or len(numbers) < 2:  # one is not worth a process elsewhere
        for number in numbers:
            yield work(number, tell)
        return
    for result in cluster.run(work, numbers):
        tell(result.n_rows)
        yield result


def import_ray() -> Any:
    """Ray itself; refuses early where the extra is missing."""
    try:
        import ray
    except ImportError as error:
        raise ConfigError("The engine 'ray' needs the package ray: pip install 'soel[ray]'.") from error
    return ray


def _fill(
    work: Work[Any], numbers: Sequence[int], n_workers: int | None, results: queue.Queue[Any], stop: threading.Event
) -> None:
    """Put the packed result of each part into the queue, or the error that ends all."""
    try:
        ray_data = import_module("ray.data")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray_data.DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        parts = ray_data.from_items([{"part": int(number)} for number in numbers], override_num_blocks=len(numbers))
        compute = ray_data.TaskPoolStrategy(size=n_workers)
        for batch in parts.map_batches(_Packed(work), batch_size=1, compute=compute).iter_batches(batch_size=1):
            _put(batch["result"][0], results, stop)
            if stop.is_set():
                return
    except BaseException as error:
        _put(error, results, stop)


def _put(item: Any, results: queue.Queue[Any], stop: threading.Event) -> None:
    while not stop.is_set():
        with suppress(queue.Full):
            results.put(item, timeout=0.2)
            return


class _Packed:
    """A batch of one part -> its result, or what is wrong with it, as bytes.

    A fault of the data is no failure of the cluster: returned as a value it arrives as it is, and is not retried.
    """

    def __init__(self, work: Work[Any]) -> None:
        self._work = work

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        try:
            result = self._work(int(batch["part"][0]), lambda _: None)
            packed = pickle.dumps((result, "", ""))
        except SoelError as error:
            packed = pickle.dumps((None, type(error).__name__, str(error)))
        return {"result": [packed]}


def _unpack(item: Any) -> Any:
    if isinstance(item, BaseException):
        raise item
    result, kind, problem = pickle.loads(item)  # from the cluster, which runs this process's own code
    if kind:
        raise getattr(errors, kind, SoelError)(problem)
    return result


def _knock(address: str) -> None:
    """Raise where no server listens: Ray itself would wait for long."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise ValueError(f"{address} is not HOST:PORT")
    socket.create_connection((host, int(port)), timeout=3).close()


def _start(ray: Any, n_cpus: int, folder: str) -> None:
    """Start a cluster on this machine: a token in memory, the loopback address alone, no calls to other machines.

    Ray would write a token into the home folder; and its process for the dashboard, without one, does nothing but ask
    the machine's cloud for its name, for statistics that are switched off.
    """
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # a cluster is of one machine on any system
    with (
        _replaced("ray._private.ray_constants", "ENABLE_RAY_CLUSTER", False),  # read when Ray was imported
        _replaced("ray._private.services", "start_api_server", lambda *_, **__: (None, None)),
    ):
        own = {"address": "local", "include_dashboard": False, "num_cpus": n_cpus}
        ray.init(**own, _temp_dir=str(Path(folder, "ray")), **UNLOGGED)  # which Ray opens to everybody


@contextmanager
def _replaced(module_name: str, name: str, value: object) -> Iterator[None]:
    """An attribute replaced for a block; one that another release does not have is left alone."""
    module = import_module(module_name)
    before = getattr(module, name, None)
    if before is not None:
        setattr(module, name, value)
    try:
        yield
    finally:
        if before is not None:
            setattr(module, name, before)
