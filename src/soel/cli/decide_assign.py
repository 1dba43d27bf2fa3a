"""What the owner of a session says: decide, assign."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from soel.cli.arguments import Reply, add_place, open_session
from soel.errors import ConfigError


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    decide = verbs.add_parser("decide", parents=[common], help="settle a disagreement as the owner")
    add_place(decide)
    decide.add_argument("item", metavar="ITEM")
    decide.add_argument("verdict", choices=("anomaly", "normal", "open"), help="open takes a decision back")
    decide.add_argument("--who", default="owner", help="the owner's name (default: owner)")
    decide.set_defaults(handler=run_decide)
    assign = verbs.add_parser("assign", parents=[common], help="say who is to label which items, or look it up")
    add_place(assign)
    assign.add_argument("names", metavar="NAME", nargs="*", help="who; several get the open items in turn")
    assign.add_argument("--items", metavar="ID", nargs="+", help="these items (default: all open ones)")
    assign.add_argument("--free", action="store_true", help="give items back to whoever comes first")
    assign.add_argument("--who", default="owner", help="the owner's name (default: owner)")
    assign.set_defaults(handler=run_assign)


def run_decide(args: argparse.Namespace) -> Reply:
    """Settle a disagreement."""
    with closing(open_session(args)) as session:
        session.decide(args.item, None if args.verdict == "open" else args.verdict, args.who)
        left = list(session.state.disagreements)
    outcome = "has no decision any more" if args.verdict == "open" else f"counts as {args.verdict}"
    rest = f"Still open: {', '.join(left[:10])}." if left else "No disagreement is open."
    return Reply({"item": args.item, "verdict": args.verdict, "disagreements": left}, f"{args.item} {outcome}. {rest}")


def run_assign(args: argparse.Namespace) -> Reply:
    """Say who is to label which items."""
    from soel.session.people import waiting_for

    if args.free and args.names:
        raise ConfigError(f"--free takes items from everybody, and {args.names[0]!r} was named; say one of the two.")
    with closing(open_session(args)) as session:
        changed = session.assign(args.names, args.items, args.who) if args.names or args.free else {}
        state = session.state
    waiting = {item: names for item in state.open if (names := waiting_for(state, item))}
    lines = [f"{item}: {', '.join(names)}" for item, names in waiting.items()]
    free = len(state.open) - len(waiting)
    lines.append(f"{len(changed)} items changed; {len(waiting)} open ones are assigned, {free} are for anybody.")
    document = {"changed": changed, "assigned": waiting, "n_free": free}
    return Reply(document, "\n".join([*lines, f"Next: soel label {args.folder}"]))
