"""The cluster: connected to on first use, asked for its machines, watched while work runs on it."""

from __future__ import annotations

import atexit
import logging
import math
import os
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from soel.errors import ClusterLostError, ConfigError, SessionError, SoelError
from soel.scoring.ray.own_cluster import close_to_others, own_folder
from soel.threads import n_cores

Result = TypeVar("Result")
LOOK_EVERY = 0.2  # seconds between two looks at what was computed
ASK_HEAD_EVERY, PATIENCE = 10, 4  # the head is asked at every tenth look, and is lost when it is silent four times

# Ray's own settings; what a user has set already is left alone.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_TRAIN_ENABLE_STATE_ACTOR_RECONCILIATION": "0",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@dataclass(frozen=True)
class Plan:
    """How many workers, and how many cores and how much memory each may use."""

    n_workers: int
    n_cores: int
    memory: float


@dataclass
class Cluster:
    """A Ray cluster. address: of a running one, None for one of its own on this machine.

    n_workers: how many processes share a training and a query; None takes one per machine, with all of its cores.
    """

    address: str | None = None
    n_workers: int | None = None
    _is_connected: bool = field(default=False, init=False)
    _folder: str | None = field(default=None, init=False)

    def connect(self) -> None:
        """Join the cluster, or start one here, for this process alone: nothing is reported to anybody."""
        if self._is_connected:
            return
        ray = _import_ray()
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            if self.address not in (None, "auto"):
                _knock(str(self.address))
            with close_to_others() if self.address is None else nullcontext():
                ray.init(**self._options(), **QUIETLY, ignore_reinit_error=True)
        except (OSError, ValueError, RuntimeError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
            raise ConfigError(
                f"There is no Ray cluster at {self.address or 'this machine'} ({reason}). Give the HOST:PORT that "
                "`ray start --head` has printed, or leave <<address>> out to use this machine alone."
            ) from error
        self._is_connected = True

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._is_connected:
            _import_ray().shutdown()
            self._is_connected = False
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def plan(self, n_shards: int) -> Plan:
        """Workers for so many shards, on the machines that are alive now."""
        self.connect()
        alive = [node["Resources"] for node in _import_ray().nodes() if node["Alive"]]
        able = [resources for resources in alive if resources.get("CPU", 0) >= 1]
        if not able:
            raise SessionError("The cluster has no cores to work with. Add machines to it, then run this again.")
        cores = [int(resources["CPU"]) for resources in able]
        n_workers = min(self.n_workers or len(cores), n_shards, sum(cores))
        per_machine = -(-n_workers // len(cores))
        memory = min(float(resources.get("memory", math.inf)) for resources in able) / per_machine
        return Plan(n_workers, max(1, min(cores) // per_machine), memory)

    def wait_for(self, work: Callable[[], Result], meanwhile: Callable[[], None] | None = None) -> Result:
        """What a piece of work on the cluster returns. A head that is lost meanwhile is an error that says so.

        meanwhile: called now and then, to show progress. The work runs in a thread that nobody waits for at the end:
        Ray itself waits for a lost head for minutes, then ends the process.
        """
        self.connect()
        done: list[Any] = []
        thread = threading.Thread(target=_attempt, args=(work, done), daemon=True)
        thread.start()
        watch = _Watch(self.head)
        while thread.is_alive():
            thread.join(LOOK_EVERY)
            if meanwhile is not None:
                meanwhile()
            if watch.is_lost():
                raise ClusterLostError(self._lost())
        error, result = done
        if error is not None:
            raise in_our_words(error)
        return result  # type: ignore[no-any-return]

    @property
    def head(self) -> str:
        """Host and port of the cluster's head."""
        return str(_import_ray().get_runtime_context().gcs_address)

    def _lost(self) -> str:
        where = f"<<address={self.address}>>" if self.address else "without an address"
        return (
            f"The head of the Ray cluster ({self.head}) does not answer any more. Nothing stored is lost: start the "
            f"cluster again and run the same command with <<engine=ray>> {where}; it goes on from what is stored."
        )

    def _options(self) -> dict[str, Any]:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        if self.address is not None:
            return {"address": self.address}
        self._folder = self._folder or own_folder()
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        own = {"address": "local", "include_dashboard": False, "num_cpus": self.n_workers or n_cores()}
        return {**own, "_temp_dir": str(Path(self._folder, "ray"))}  # which Ray opens to everybody


QUIETLY = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}


class _Watch:
    """Asks the head now and then whether it is there, without Ray."""

    def __init__(self, head: str) -> None:
        self._head, self._looks, self._silent = head, 0, 0

    def is_lost(self) -> bool:
        self._looks += 1
        if self._looks % ASK_HEAD_EVERY == 0:
            self._silent = 0 if self._answers() else self._silent + 1
        return self._silent >= PATIENCE

    def _answers(self) -> bool:
        try:
            _knock(self._head)
        except OSError:
            return False
        return True


def _knock(address: str) -> None:
    """Raise where nobody listens: Ray itself would wait for long."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise ValueError(f"{address} is not HOST:PORT")
    socket.create_connection((host, int(port)), timeout=3).close()


def in_our_words(error: BaseException) -> BaseException:
    """What a worker said, if it is one of our own errors; else the error as it came."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, SoelError) and type(cause).__module__ == SoelError.__module__:
            return cause
        inner = getattr(cause, "cause", None)
        cause = inner if isinstance(inner, BaseException) and inner is not cause else cause.__cause__
    return error


def _attempt(work: Callable[[], Any], done: list[Any]) -> None:
    try:
        done.extend((None, work()))
    except BaseException as error:
        done.extend((error, None))


def check_installed() -> None:
    """Refuse early where the extra is missing."""
    _import_ray()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ConfigError("The engine 'ray' needs the package ray: pip install 'soel[ray]'.") from error
    return ray
