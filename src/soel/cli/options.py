"""The options of a new session, the same for every verb that starts one."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soel.session import SessionOptions

PROFILES = ("default", "paper", "authors")
RULES_HELP = "contamination, share=0.02, alarms=50 or false-alarms=0.01"


def add_session_options(verb: argparse.ArgumentParser) -> None:
    """Add what a person chooses once, when a session starts. What is not given takes the usual value."""
    new = verb.add_argument_group("new sessions")
    new.add_argument("--id-column", metavar="COLUMN", help="the column that names each item")
    new.add_argument("--label-column", metavar="COLUMN", help="a column of known labels, kept out of the features")
    new.add_argument("--profile", choices=PROFILES, help="how the detector learns (default: default)")
    new.add_argument("--seed", type=int, help="where chance starts from (default: 0)")
    new.add_argument("--budget", type=int, help="labels the expert can give (default: 20)")
    new.add_argument("--threshold", metavar="RULE", help=f"where alarms start: {RULES_HELP} (default: contamination)")
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
