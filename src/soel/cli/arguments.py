"""What verbs share: a reply, and the arguments for a session, for where it computes and for what a new one is like."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.errors import ConfigError

if TYPE_CHECKING:
    from soel.scoring.ray import Cluster
    from soel.session import Session


class Exit(IntEnum):
    """How a command ends, for whoever called it."""

    DONE = 0
    BUG = 1
    REFUSED = 2  # with a message
    DAMAGED = 3  # `check`: a file or an event is not what it was
    ALARMS = 3  # `watch`: there is something to look at
    STALE = 4  # `watch`: the data are no longer like those that the model learnt from
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


def add_verb(
    verbs: Any, common: argparse.ArgumentParser, run: Callable[[argparse.Namespace], Reply], summary: str
) -> argparse.ArgumentParser:
    """A verb about a session, named after what runs it: `run_fit` is `fit`."""
    verb: argparse.ArgumentParser = verbs.add_parser(run.__name__[4:], parents=[common], help=summary)
    verb.add_argument("folder", metavar="DIR", type=Path)
    verb.add_argument("--store", metavar="ADDRESS", help=STORE_HELP)
    verb.set_defaults(handler=run)
    return verb


def add_engine(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that say which machines read and score rows."""
    group = verb.add_argument_group("where it computes")
    group.add_argument("--engine", default="local", metavar="local | ray[:HOST:PORT]", help="this machine, or Ray")
    group.add_argument("--workers", metavar="N", type=int, help="parts computed at the same time (default: one a core)")


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

        return Cluster(address or None, args.workers)
    if getattr(args, "workers", None) is not None:
        raise ConfigError("--workers is about a cluster; say --engine ray, too, or leave it out.")
    return None
