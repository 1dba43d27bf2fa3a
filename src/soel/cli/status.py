"""Where a session stands, or all those of a folder: status."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Reply, add_verb, open_session
from soel.errors import ConfigError
from soel.text import count, format_table

if TYPE_CHECKING:
    from soel.session import Status
    from soel.session.create import SessionEntry
    from soel.session.people import Person

HINTS = {
    "ask": "soel ask {folder}",
    "tell": "soel tell {folder} FILE.csv",
    "fit": "soel fit {folder}",
    "score": "soel score {folder}",
}


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add this verb to the command line."""
    status = add_verb(verbs, common, run_status, "say where a session, or each of a folder, stands")
    status.add_argument("--page", metavar="FILE.html", type=Path, help="of a folder: write the list as a page, too")


def run_status(args: argparse.Namespace) -> Reply:
    """Say where a session stands, or list those in a folder."""
    from soel.session.create import list_sessions

    if not (args.folder / "config.json").is_file() and args.folder.is_dir() and (found := list_sessions(args.folder)):
        return _list(args, found)
    if args.page is not None:
        raise ConfigError(f"--page lists the sessions in a folder, and {args.folder} holds none; leave it out.")
    with closing(open_session(args)) as session:
        status = session.status()
    return Reply({"folder": str(args.folder), **asdict(status)}, _describe(status, args.folder))


def _describe(status: Status, folder: Path) -> str:
    from soel.report.quality_words import quality_words, unsure_words

    lines = [
        *([status.name] if status.name else []),
        *([status.description] if status.description else []),
        f"{status.source}: {count(status.n_items, 'item')}, round {status.round}, "
        f"{count(status.n_open, 'question')} open.",
        *describe_sample(status),
        f"Labels: {status.n_labels} of {status.budget}, {status.n_anomalies} of them anomalies; "
        f"{count(status.n_set_aside, 'item')} set aside.",
        *_describe_people(status.people),
    ]
    if status.n_disagreements:
        lines.append(
            f"Annotators disagree about {count(status.n_disagreements, 'item')}; settle that with `soel decide`."
        )
    if status.estimate is not None:
        low, high = status.estimate.low, status.estimate.high
        lines.append(f"Contamination: by the last fit roughly {status.estimate.value:.3f} ({low:.3f} to {high:.3f}).")
    if status.quality is not None:
        lines += quality_words(status.quality)
    if status.figures is not None and status.estimate is not None:
        lines.append(unsure_words(status.figures.n_unsure, status.estimate))
    if status.model is not None:
        age = "" if status.fit_is_current else ", older than the labels or the data"
        lines.append(f"Model: {status.model.folder}{age}.")
    return "\n".join([*lines, "Next: " + HINTS[status.next].format(folder=folder)])


def describe_sample(status: Status) -> list[str]:
    """In words, what part of the data the pool is; nothing where it is all of them."""
    if status.n_rows is None or status.n_rows == status.n_items:
        return []
    drawn = f"{status.n_items} of {status.n_rows} rows were drawn"
    return [f"The pool is a random sample: {drawn}. `soel score` looks at all of them."]


def _describe_people(people: Sequence[Person]) -> list[str]:
    """What each one did, where there is more than one; of one alone the session's own figures say it."""
    if len(people) < 2 and not any(person.n_assigned for person in people):
        return []
    header = ["who", "answers", "anomaly", "normal", "set aside", "still to do", "s per answer", "minutes"]
    rows = [
        [
            person.name,
            *map(str, (person.n_answers, person.n_anomaly, person.n_normal, person.n_aside, person.n_assigned)),
            "-" if person.seconds is None else f"{person.seconds:.0f}",
            f"{person.minutes:.0f}",
        ]
        for person in people
    ]
    return [format_table(header, rows)]


def _list(args: argparse.Namespace, found: Sequence[SessionEntry]) -> Reply:
    """Each session of a folder on a line."""
    sessions = [
        {"folder": str(entry.folder), "changed": entry.changed, "error": entry.error}
        | ({} if entry.status is None else asdict(entry.status))
        for entry in found
    ]
    header = ["folder", "name", "items", "labels", "anomalies", "next", "changed"]
    text = format_table(header, [_row(entry) for entry in found])
    text += "".join(f"\n{entry.folder}: {entry.error}" for entry in found if entry.error)
    if args.page is None:
        return Reply({"sessions": sessions}, text)
    out = _write_page(args.folder, found, args.page)
    return Reply({"sessions": sessions, "out": str(out)}, f"{text}\nThe page is in {out}.")


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


def _write_page(folder: Path, found: Sequence[SessionEntry], out: Path) -> Path:
    from soel.report.page import write_session_list

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
