"""A cluster of soel's own on this machine: nobody else reaches it, and it asks nobody what machine it is."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

LOOPBACK = {"linux": "lo", "darwin": "lo0"}


def own_folder() -> str:
    """A new folder around that of a cluster, with its sockets and logs: for this account alone, unlike Ray's own."""
    # The names of sockets are long, and may have about a hundred characters.
    place = os.environ.get("RAY_TMPDIR") or ("/tmp" if os.name == "posix" else None)
    return tempfile.mkdtemp(prefix="soel-ray-", dir=place)


@contextmanager
def close_to_others() -> Iterator[None]:
    """While a cluster is started in this block, its processes get a token in memory and the loopback address alone.

    Ray would write a token into the home folder; and its process for the dashboard, without one, does nothing but ask
    the machine's cloud for its name, for statistics that are switched off.
    """
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    settings = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # there, a cluster is of one machine on any system
    if sys.platform in LOOPBACK:
        settings["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    with ExitStack() as leaving:
        leaving.enter_context(_environment(settings))
        for module, name, value in (
            ("ray._private.ray_constants", "ENABLE_RAY_CLUSTER", False),  # read when Ray was imported
            ("ray._private.services", "start_api_server", _start_nothing),
        ):
            leaving.enter_context(_replace(import_module(module), name, value))
        yield


def _start_nothing(*_: object, **__: object) -> tuple[None, None]:
    """What Ray's own function returns where no process was started."""
    return None, None


@contextmanager
def _replace(module: Any, name: str, value: object) -> Iterator[None]:
    """An attribute replaced for a block; one that another release does not have is left alone."""
    if not hasattr(module, name):
        yield
        return
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Variables for processes that are started in a block; what a user has set already is left alone."""
    new = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)
