"""A session that lives on: add, remove, extend, merge, describe, sessions."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.options import add_place, open_session
from soel.cli.reply import Reply
from soel.report.progress import progress_bar
from soel.text import format_table, show

if TYPE_CHECKING:
    from soel.session import Session
    from soel.session.listing import SessionEntry
    from soel.session.merge import TakenLabels
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
    extend = verbs.add_parser("extend", parents=[common], help="allow more labels")
    add_place(extend)
    extend.add_argument("more", metavar="N", type=int, help="how many more than before")
    extend.add_argument("--who", default="owner", help="who allows them (default: owner)")
    extend.set_defaults(handler=run_extend)
    merge = verbs.add_parser("merge", parents=[common], help="take in the answers of another session of the same data")
    add_place(merge)
    merge.add_argument("other", metavar="OTHER-DIR", type=Path)
    merge.set_defaults(handler=run_merge)
    describe = verbs.add_parser("describe", parents=[common], help="name a session, or say what it is about")
    add_place(describe)
    add_description(describe)
    describe.add_argument("--who", default="owner", help="who says it (default: owner)")
    describe.set_defaults(handler=run_describe)
    listing = verbs.add_parser("sessions", parents=[common], help="list the sessions in a folder")
    listing.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=Path(), help="default: this one")
    listing.add_argument("--page", metavar="FILE.html", type=Path, help="write the list as a page, too, with links")
    listing.set_defaults(handler=run_sessions)


def add_description(verb: argparse.ArgumentParser) -> None:
    """Add what a session can be called."""
    verb.add_argument("--name", metavar="TEXT", help="what the session is called")
    verb.add_argument("--description", metavar="TEXT", help="what it is about")


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


def run_extend(args: argparse.Namespace) -> Reply:
    """Allow more labels."""
    with closing(open_session(args)) as session:
        budget = session.extend(args.more, args.who)
        n_left = session.state.n_left
    text = f"The budget is now {budget} labels, {n_left} of them left.\nNext: soel ask {args.folder}"
    return Reply({"budget": budget, "n_left": n_left}, text)


def run_merge(args: argparse.Namespace) -> Reply:
    """Take in another session's answers."""
    from soel.session.merge import merge_session

    with closing(open_session(args)) as session:
        taken = merge_session(session, args.other)
        state = session.state
    n_disputes = len(state.disagreements)
    disputes = f" People disagree on {n_disputes} items: soel decide {args.folder} ITEM anomaly." if n_disputes else ""
    text = f"{describe_taken(taken)} {len(state.labels)} items are labelled.{disputes}\nNext: soel fit {args.folder}"
    return Reply({**asdict(taken), "n_labels": len(state.labels), "disagreements": list(state.disagreements)}, text)


def describe_taken(taken: TakenLabels) -> str:
    """In words, what was taken over from elsewhere."""
    known = f", {taken.n_known} were known" if taken.n_known else ""
    left = f"; {taken.n_left_out} are about items that are not here" if taken.n_left_out else ""
    return f"{taken.n_stored} answers were taken over, matched by {taken.by}{known}{left}."


def run_describe(args: argparse.Namespace) -> Reply:
    """Name a session, or say what it is called."""
    with closing(open_session(args)) as session:
        session.describe(args.name, args.description, args.who)
        state = session.state
    text = f"{args.folder}: {state.name or 'no name yet'}\n{state.description}".strip()
    return Reply({"folder": str(args.folder), "name": state.name, "description": state.description}, text)


def run_sessions(args: argparse.Namespace) -> Reply:
    """List the sessions in a folder."""
    from soel.session.listing import list_sessions

    found = list_sessions(args.folder)
    document = [
        {"folder": str(entry.folder), "changed": entry.changed, "error": entry.error}
        | ({} if entry.status is None else asdict(entry.status))
        for entry in found
    ]
    if not found:
        text = f"There is no session in {args.folder}.\nNext: soel init DIR --data FILE"
    else:
        header = ["folder", "name", "items", "labels", "anomalies", "next", "changed"]
        text = format_table(header, [_row(entry) for entry in found])
        text += "".join(f"\n{entry.folder}: {entry.error}" for entry in found if entry.error)
    if args.page is None:
        return Reply({"sessions": document}, text)
    out = _write_page(args.folder, found, args.page)
    return Reply({"sessions": document, "out": str(out)}, f"{text}\nThe page is in {out}.")


def _write_page(folder: Path, found: Sequence[SessionEntry], out: Path) -> Path:
    from soel.report.session_list import write_session_list

    sessions = [replace(entry, folder=entry.folder.resolve(), address=_find_served(entry.folder)) for entry in found]
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return write_session_list(folder.resolve(), sessions, when, out)


def _find_served(folder: Path) -> str:
    """The address of a session's page on this machine, where one is served there now; else empty."""
    try:
        from soel.web.auth import FILE, Auth
    except ImportError:  # without soel[web] nothing is served
        return ""
    port = Auth(folder).port if (folder / FILE).is_file() else 0
    if not port:
        return ""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
    except OSError:
        return ""
    return f"http://127.0.0.1:{port}/"


def _row(entry: SessionEntry) -> list[str]:
    status = entry.status
    if status is None:
        return [str(entry.folder), "", "", "", "", "see below", ""]
    return [
        str(entry.folder),
        status.name,
        str(status.n_items),
        f"{status.n_labels} of {status.budget}",
        str(status.n_anomalies),
        status.next,
        entry.changed[:16].replace("T", " "),
    ]


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
    hint = [f"More questions: soel extend {folder} 10"] if not status.n_left else []
    numbers = {name: getattr(pool, name) for name in ("n_added", "n_replaced", "n_removed", "n_displaced")}
    document = {"folder": str(folder), **asdict(status), **numbers, "notes": list(pool.notes)}
    lines = [*map(show, pool.notes), text, *hint, f"Next: soel {verb} {folder}"]
    return Reply(document, "\n".join(lines))
