"""What verbs share: a reply, and the arguments for a session, for where it computes and for what a new one is like."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.column_settings import add_columns
from soel.errors import ConfigError

if TYPE_CHECKING:
    from soel.cli.column_settings import DataSettings
    from soel.scoring.ray import Cluster
    from soel.session import Session


class Exit(IntEnum):
    """How a command ends, for whoever called it."""

    DONE = 0
    BUG = 1
    REFUSED = 2  # with a message
    DAMAGED = 3  # `check`: a file or an event is not what it was
    DRIFTED = 5  # `score --fail-on-drift`: the scores are written, but the rows are not like the pool
    INCOMPLETE = 6  # `score`: some pictures cannot be read; the scores of all others are written
    EMPTY = 7  # `score --data`: a header without rows; nothing is written
    INTERRUPTED = 130


@dataclass(frozen=True)
class Reply:
    """document: plain JSON values. text: short, ending with the command to type next. code: how the command ends."""

    document: Mapping[str, Any]
    text: str
    code: Exit = Exit.DONE


STORE_HELP = "the address of the events, with its password: postgresql://user:password@host/database"
GOAL_HELP = "what questions are for: the best detector, or as many anomalies as possible (default: learn)"
EXTRACTOR = "efficientnet-lite2"


def add_place(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that name a session."""
    verb.add_argument("folder", metavar="DIR", type=Path)
    verb.add_argument("--store", metavar="ADDRESS", help=STORE_HELP)


def add_engine(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that say which machines read and score rows."""
    group = verb.add_argument_group("where it computes")
    group.add_argument("--engine", default="local", metavar="local | ray[:HOST:PORT]", help="this machine, or Ray")
    group.add_argument("--workers", metavar="N", type=int, help="parts computed at the same time (default: one a core)")
    group.add_argument("--shared", metavar="PLACE", help="where to copy data that only this machine has")


def open_session(args: argparse.Namespace) -> Session:
    """The session that the arguments name."""
    from soel.session import create

    return create.open_session(args.folder, args.store)


def cluster_options(args: argparse.Namespace) -> Cluster | None:
    """The cluster that the arguments name; None for this machine."""
    name, _, address = getattr(args, "engine", "local").partition(":")
    if name not in ("local", "ray") or (name == "local" and address):
        raise ConfigError(f"--engine is local, ray or ray:HOST:PORT, got {args.engine!r}.")
    if name == "ray":
        from soel.scoring.ray import Cluster

        return Cluster(address or None, args.workers, args.shared)
    named = [option for option in ("workers", "shared") if getattr(args, option, None) is not None]
    if named:
        raise ConfigError(f"--{named[0]} is about a cluster; say --engine ray, too, or leave it out.")
    return None


def add_session_options(verb: argparse.ArgumentParser) -> None:
    """Add what a person chooses once, when a session starts. What is not given takes the usual value."""
    new = verb.add_argument_group("new sessions")
    new.add_argument("--profile", metavar="NAME", help="how the detector learns: default, paper or authors")
    new.add_argument("--goal", choices=("learn", "find"), help=GOAL_HELP)
    new.add_argument("--budget", type=int, metavar="N", help="labels the expert can give (default: 20)")
    new.add_argument("--threshold", metavar="RULE", help="where alarms start (default: contamination)")
    new.add_argument("--contamination", type=float, metavar="SHARE", help="the share of anomalies, if it is known")
    new.add_argument("--labels-by", metavar="NAME", help="store the labels of --label-column as answers of NAME")
    new.add_argument("--extractor", default=EXTRACTOR, metavar="NAME|FILE.onnx", help="the network for pictures")
    add_columns(verb)


def given_options(args: argparse.Namespace, settings: DataSettings) -> dict[str, Any]:
    """The options of a new session that were given, by name."""
    from soel.session import SessionOptions

    given = {field.name: getattr(args, field.name, None) for field in fields(SessionOptions)}
    return {name: value for name, value in given.items() if value is not None} | settings.of_session
