"""The session that a verb works on: its folder, and where its events are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soel.session import Session

STORE_HELP = "the address of the events, with its password: postgresql://user:password@host/database"


def add_place(verb: argparse.ArgumentParser) -> None:
    """Add the arguments that name a session."""
    verb.add_argument("folder", metavar="DIR", type=Path)
    verb.add_argument("--store", metavar="ADDRESS", help=STORE_HELP)


def open_session(args: argparse.Namespace) -> Session:
    """The session that the arguments name."""
    from soel.api import workspace

    return workspace.open(args.folder, args.store)
