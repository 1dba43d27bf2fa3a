"""What a session holds, and its owner: add, remove, set, import, export, check, decide, assign."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Exit, Reply, add_verb, open_session
from soel.errors import ConfigError
from soel.report.progress import progress_bar
from soel.text import count, show

if TYPE_CHECKING:
    from soel.session import Session
    from soel.session.config import PoolRef
    from soel.session.labels import TakenLabels


FORMATS = ("csv", "json", "xlsx", "parquet", "label-studio", "coco")


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    more = add_verb(verbs, common, run_add, "take more data into a session")
    more.add_argument("--data", metavar="DATA", required=True, help="more rows, pictures or clips like the session's")
    more.add_argument(
        "--replace", action="store_true", help="items that are there already take on the new content, labels stay"
    )
    more.add_argument("--who", default="owner", help="who adds them (default: owner)")
    remove = add_verb(verbs, common, run_remove, "take items out of a session")
    remove.add_argument("items", metavar="ID", nargs="+")
    remove.add_argument("--who", default="owner", help="who removes them (default: owner)")
    change = add_verb(verbs, common, run_set, "name a session, say what it is about, raise its budget")
    change.add_argument("--budget", type=int, metavar="N", help="labels the expert can give, in all")
    change.add_argument("--name", metavar="TEXT", help="what the session is called")
    change.add_argument("--description", metavar="TEXT", help="what it is about")
    change.add_argument("--who", default="owner", help="who says it (default: owner)")
    export = add_verb(verbs, common, run_export, "write all labels to a file")
    export.add_argument("--format", choices=FORMATS, help="default: as the suffix of --out says, else csv")
    export.add_argument("--out", metavar="FILE", type=Path, help="default: DIR/labels.csv and the like")
    export.add_argument("--events", action="store_true", help="copy the events from the server into DIR instead")
    take = add_verb(verbs, common, run_import, "store the labels of a file or another session")
    take.add_argument("source", metavar="FILE | DIR", type=Path, help="CSV, JSON, Label Studio, or a session's folder")
    take.add_argument("--who", metavar="NAME", help="the annotator, in place of the names in the file")
    check = add_verb(verbs, common, run_check, "compare every file of a session and say what is damaged")
    check.add_argument("--repair", action="store_true", help="make again what can be made from the table")
    decide = add_verb(verbs, common, run_decide, "settle a disagreement as the owner")
    decide.add_argument("item", metavar="ITEM")
    decide.add_argument("verdict", choices=("anomaly", "normal", "open"), help="open takes a decision back")
    decide.add_argument("--who", default="owner", help="the owner's name (default: owner)")
    assign = add_verb(verbs, common, run_assign, "say who is to label which items, or look it up")
    assign.add_argument("names", metavar="NAME", nargs="*", help="who; several get the open items in turn")
    assign.add_argument("--items", metavar="ID", nargs="+", help="these items (default: all open ones)")
    assign.add_argument("--free", action="store_true", help="give items back to whoever comes first")
    assign.add_argument("--who", default="owner", help="the owner's name (default: owner)")


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
    budget = f"The budget is {count(state.budget, 'label')}, {state.n_left} of them left."
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
    text = f"The session has {count(status.n_items, 'item')}{of} ({changes}); {count(status.n_labels, 'label')} hold."
    verb = "ask" if status.next == "tell" else status.next
    hint = [f"More questions: soel set {folder} --budget {status.budget + 10}"] if not status.n_left else []
    numbers = {name: getattr(pool, name) for name in ("n_added", "n_replaced", "n_removed", "n_displaced")}
    document = {"folder": str(folder), **asdict(status), **numbers, "notes": list(pool.notes)}
    lines = [*map(show, pool.notes), text, *hint, f"Next: soel {verb} {folder}"]
    return Reply(document, "\n".join(lines))


def run_export(args: argparse.Namespace) -> Reply:
    """Write all labels, or bring the events in."""
    from soel.session.create import copy_events_into_folder
    from soel.session.labels import export_labels
    from soel.session.score_file import name_items

    with closing(open_session(args)) as session:
        if args.events:
            out, n_events = copy_events_into_folder(session.folder, session.events), len(session.events)
            told = f"{count(n_events, 'event')} stored in {out}, too."
            text = f"{told}\nWithout the server: soel status {args.folder} --store folder"
            return Reply({"out": str(out), "n_events": n_events}, text)
        out, n_entries = export_labels(session, args.format, args.out, name_items(session))
    text = f"{count(n_entries, 'entry')} written to {out}.\nNext: soel import OTHER-DIR {out}"
    form = args.format or out.suffix.lower().removeprefix(".")
    return Reply({"out": str(out), "format": form, "n_entries": n_entries}, text)


def run_import(args: argparse.Namespace) -> Reply:
    """Store the labels of a file, or of another session."""
    from soel.session.labels import import_labels, take_labels

    if args.source.is_dir() and args.who is not None:
        raise ConfigError("--who names the annotator of a file; the answers of a session keep their names.")
    with closing(open_session(args)) as session:
        if args.source.is_dir():
            taken = take_labels(session, args.source)
            document, words = asdict(taken), _describe_taken(taken)
        else:
            stored = import_labels(session, args.source, args.who)
            document, words = asdict(stored), f"{count(stored.n_stored, 'entry')} stored{stored.words}."
        state = session.state
    disputes = list(state.disagreements)
    lines = [f"{words} Labelled: {count(len(state.labels), 'item')}."]
    if disputes:
        lines.append(f"People disagree on {count(len(disputes), 'item')}: soel decide {args.folder} ITEM anomaly.")
    document |= {"n_labels": len(state.labels), "disagreements": disputes}
    return Reply(document, "\n".join([*lines, f"Next: soel fit {args.folder}"]))


def _describe_taken(taken: TakenLabels) -> str:
    """In words, what was taken over from elsewhere."""
    known = f", {taken.n_known} were known" if taken.n_known else ""
    left = f"; {taken.n_left_out} are about items that are not here" if taken.n_left_out else ""
    return f"{count(taken.n_stored, 'answer')} taken over, matched by {taken.by}{known}{left}."


def run_check(args: argparse.Namespace) -> Reply:
    """Compare every file and event, and say what damage means."""
    from soel.session.check import check_session, repair

    found = check_session(args.folder, args.store)
    repaired = repair(args.folder, found) if args.repair else []
    if repaired:
        found = check_session(args.folder, args.store)
    damaged = [finding for finding in found if finding.is_whole is False]
    lines = [f"{name}: made again from the table." for name in repaired]
    lines += [f"{each.name}: damaged. {each.means} {each.remedy}".rstrip() for each in damaged]
    lines += [f"{each.name}: unknown. {each.means}" for each in found if each.is_whole is None]
    n_whole = sum(finding.is_whole is True for finding in found)
    verdict = f"{len(damaged)} of {len(found)} parts of the session are damaged."
    lines.append(verdict if damaged else f"All {n_whole} parts of the session are whole.")
    document = {"whole": not damaged, "repaired": repaired, "findings": [asdict(finding) for finding in found]}
    return Reply(document, "\n".join(lines).replace("DIR", str(args.folder)), Exit.DAMAGED if damaged else Exit.DONE)


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
    lines.append(
        f"{count(len(changed), 'item')} changed; {len(waiting)} open ones are assigned, {free} are for anybody."
    )
    document = {"changed": changed, "assigned": waiting, "n_free": free}
    return Reply(document, "\n".join([*lines, f"Next: soel label {args.folder}"]))
