"""Arguments that several verbs share: which session, where it computes, what a new one is like."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.errors import ConfigError

if TYPE_CHECKING:
    from soel.scoring.ray import Cluster
    from soel.session import Session, SessionOptions

PROFILES = ("default", "distances", "paper", "authors")
STORE_HELP = "the address of the events, with its password: postgresql://user:password@host/database"
KIND_HELP = "what rows are: columns of a table, or features of a network (default: auto)"
GOAL_HELP = "what questions are for: the best detector, or as many anomalies as possible (default: learn)"


def add_place(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that name a session."""
    verb.add_argument("folder", metavar="DIR", type=Path)
    verb.add_argument("--store", metavar="ADDRESS", help=STORE_HELP)


def add_engine(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that say which machines read and score rows."""
    group = verb.add_argument_group("where it computes")
    group.add_argument("--engine", choices=("local", "ray"), default="local", help="this machine, or a Ray cluster")
    group.add_argument("--address", metavar="HOST:PORT", help="the cluster's head (default: a local Ray)")
    group.add_argument("--workers", metavar="N", type=int, help="parts computed at the same time (default: one a core)")
    group.add_argument("--shared", metavar="PLACE", help="where to copy data that only this machine has")


def open_session(args: argparse.Namespace) -> Session:
    """The session that the arguments name."""
    from soel.session import create

    return create.open_session(args.folder, args.store)


def cluster_options(args: argparse.Namespace) -> Cluster | None:
    """The cluster that the arguments name; None for this machine."""
    if getattr(args, "engine", "local") == "ray":
        from soel.scoring.ray import Cluster

        return Cluster(args.address, args.workers, args.shared)
    named = [name for name in ("address", "workers", "shared") if getattr(args, name, None) is not None]
    if named:
        raise ConfigError(f"--{named[0]} is about a cluster; say --engine ray, too, or leave it out.")
    return None


def add_session_options(verb: argparse.ArgumentParser) -> None:
    """Add what a person chooses once, when a session starts. What is not given takes the usual value."""
    new = verb.add_argument_group("new sessions")
    new.add_argument("--id-column", metavar="COLUMN", help="the column that names each item")
    new.add_argument("--label-column", metavar="COLUMN", help="a column of known labels, kept out of the features")
    new.add_argument("--profile", choices=PROFILES, help="how the detector learns (default: default)")
    new.add_argument("--goal", choices=("learn", "find"), help=GOAL_HELP)
    new.add_argument("--kind", choices=("auto", "table", "vectors"), help=KIND_HELP)
    new.add_argument("--seed", type=int, help="where chance starts from (default: 0)")
    new.add_argument("--budget", type=int, help="labels the expert can give (default: 20)")
    new.add_argument("--threshold", metavar="RULE", help="where alarms start (default: contamination)")
    new.add_argument("--contamination", type=float, metavar="SHARE", help="the share of anomalies, if it is known")
    new.add_argument("--answers-per-item", type=int, metavar="N", help="annotators per item (default: 1)")
    new.add_argument(
        "--pool-rows", type=int, metavar="N", help="draw a pool of N rows from a larger table (default: 200000)"
    )


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, by name."""
    from soel.session import SessionOptions

    given = {field.name: getattr(args, field.name, None) for field in fields(SessionOptions)}
    return {name: value for name, value in given.items() if value is not None}


def read_session_options(args: argparse.Namespace) -> SessionOptions:
    """The options as one record."""
    from soel.session import SessionOptions

    return SessionOptions(**given_options(args))
