"""The session that a verb works on: its folder, where its events are, and where it computes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from soel.errors import ConfigError

if TYPE_CHECKING:
    from soel.engines.ray.clusters import ClusterOptions
    from soel.session import Session

STORE_HELP = "the address of the events, with its password: postgresql://user:password@host/database"


def add_place(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that name a session."""
    verb.add_argument("folder", metavar="DIR", type=Path)
    verb.add_argument("--store", metavar="ADDRESS", help=STORE_HELP)


def add_engine(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that say where a verb computes."""
    group = verb.add_argument_group("where it computes")
    group.add_argument("--engine", choices=("local", "ray"), default="local", help="this machine, or a Ray cluster")
    group.add_argument("--address", metavar="HOST:PORT", help="the cluster's head (default: a local Ray)")
    group.add_argument(
        "--workers", metavar="N", type=int, help="processes that share the work (default: one a machine)"
    )
    group.add_argument("--shared", metavar="PLACE", help="a path or address that all machines reach (default: DIR)")


def open_session(args: argparse.Namespace) -> Session:
    """The session that the arguments name."""
    from soel.api import sessions

    return sessions.open_session(args.folder, args.store, cluster_options(args))


def cluster_options(args: argparse.Namespace) -> ClusterOptions | None:
    """The cluster that the arguments name; None for this machine."""
    if getattr(args, "engine", "local") == "ray":
        from soel.engines.ray.clusters import ClusterOptions

        return ClusterOptions(args.address, args.workers, args.shared)
    named = [name for name in ("address", "workers", "shared") if getattr(args, name, None) is not None]
    if named:
        raise ConfigError(f"--{named[0]} is about a cluster; say --engine ray, too, or leave it out.")
    return None
