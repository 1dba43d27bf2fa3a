"""What a session holds: add, remove, set."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Reply, add_place, open_session
from soel.errors import ConfigError
from soel.report.progress import progress_bar
from soel.text import show

if TYPE_CHECKING:
    from soel.session import Session
    from soel.session.pool import PoolRef


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    more = verbs.add_parser("add", parents=[common], help="take more data into a session")
    add_place(more)
    more.add_argument("--data", metavar="DATA", required=True, help="more rows, pictures or clips like the session's")
    more.add_argument(
        "--replace", action="store_true", help="items that are there already take on the new content, labels stay"
    )
    more.add_argument("--who", default="owner", help="who adds them (default: owner)")
    more.set_defaults(handler=run_add)
    remove = verbs.add_parser("remove", parents=[common], help="take items out of a session")
    add_place(remove)
    remove.add_argument("items", metavar="ID", nargs="+")
    remove.add_argument("--who", default="owner", help="who removes them (default: owner)")
    remove.set_defaults(handler=run_remove)
    change = verbs.add_parser("set", parents=[common], help="name a session, say what it is about, raise its budget")
    add_place(change)
    change.add_argument("--budget", type=int, metavar="N", help="labels the expert can give, in all")
    change.add_argument("--name", metavar="TEXT", help="what the session is called")
    change.add_argument("--description", metavar="TEXT", help="what it is about")
    change.add_argument("--who", default="owner", help="who says it (default: owner)")
    change.set_defaults(handler=run_set)


def run_add(args: argparse.Namespace) -> Reply:
    """Take in more data."""
    from soel.session.growth import add_data

    with closing(open_session(args)) as session:
        with progress_bar("Reading") as bar:
            pool = add_data(session, args.data, args.replace, args.who, bar)
        return _after(session, args.folder, pool)


def run_remove(args: argparse.Namespace) -> Reply:
    """Take items out."""
    from soel.session.growth import remove_items

    with closing(open_session(args)) as session:
        pool = remove_items(session, args.items, args.who)
        return _after(session, args.folder, pool)


def run_set(args: argparse.Namespace) -> Reply:
    """Change what is said of a session; without an option, say what holds."""
    with closing(open_session(args)) as session:
        if args.budget is not None:
            _raise_budget(session, args.budget, args.who)
        if args.name is not None or args.description is not None:
            session.describe(args.name, args.description, args.who)
        state = session.state
    document = {"folder": str(args.folder), "name": state.name, "description": state.description}
    title = f"{args.folder}: {state.name or 'no name yet'}\n{state.description}".strip()
    budget = f"The budget is {state.budget} labels, {state.n_left} of them left."
    numbers = {"budget": state.budget, "n_left": state.n_left}
    return Reply(document | numbers, f"{title}\n{budget}\nNext: soel ask {args.folder}")


def _raise_budget(session: Session, budget: int, who: str) -> None:
    known = session.state.budget
    if budget < known:
        raise ConfigError(f"The budget is {known} labels and can only grow, got {budget}; choose a larger one.")
    if budget > known:
        session.extend(budget - known, who)


def _after(session: Session, folder: Path, pool: PoolRef) -> Reply:
    """What a change of the pool did, and what to do next."""
    status = session.status()
    counts = {
        "added": pool.n_added,
        "replaced": pool.n_replaced,
        "removed": pool.n_removed,
        "gave way, so that the pool stays a fair sample": pool.n_displaced,
    }
    changes = ", ".join(f"{n} {what}" for what, n in counts.items() if n) or "nothing changed"
    of = f" of {status.n_rows} rows" if status.n_rows is not None else ""
    text = f"The session has {status.n_items} items{of} ({changes}); {status.n_labels} labels hold."
    verb = "ask" if status.next == "tell" else status.next
    hint = [f"More questions: soel set {folder} --budget {status.budget + 10}"] if not status.n_left else []
    numbers = {name: getattr(pool, name) for name in ("n_added", "n_replaced", "n_removed", "n_displaced")}
    document = {"folder": str(folder), **asdict(status), **numbers, "notes": list(pool.notes)}
    lines = [*map(show, pool.notes), text, *hint, f"Next: soel {verb} {folder}"]
    return Reply(document, "\n".join(lines))
