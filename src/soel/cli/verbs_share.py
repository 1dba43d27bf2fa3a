"""Labels in and out, the owner's word, and the proof: export, import, decide, assign, replay, check."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from soel.cli.options import add_place, open_session
from soel.cli.reply import Exit, Reply
from soel.errors import ConfigError
from soel.report.progress import progress_bar

FORMATS = ("csv", "json", "xlsx", "parquet", "label-studio", "coco")


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    export = verbs.add_parser("export", parents=[common], help="write all labels to a file")
    add_place(export)
    export.add_argument("--format", choices=FORMATS, help="default: as the suffix of --out says, else csv")
    export.add_argument("--out", metavar="FILE", type=Path, help="default: DIR/labels.csv and the like")
    export.add_argument("--events", action="store_true", help="copy the events from the server into DIR instead")
    export.set_defaults(handler=run_export)
    take = verbs.add_parser("import", parents=[common], help="store the labels of a file (CSV, JSON, Label Studio)")
    add_place(take)
    take.add_argument("file", metavar="FILE", type=Path)
    take.add_argument("--who", metavar="NAME", help="the annotator, in place of the names in the file")
    take.set_defaults(handler=run_import)
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
    replay = verbs.add_parser("replay", parents=[common], help="compute everything again and say what differs")
    add_place(replay)
    replay.set_defaults(handler=run_replay)
    check = verbs.add_parser("check", parents=[common], help="compare every file of a session and say what is damaged")
    add_place(check)
    check.add_argument("--repair", action="store_true", help="make again what can be made from the table")
    check.set_defaults(handler=run_check)


def run_export(args: argparse.Namespace) -> Reply:
    """Write all labels, or bring the events in."""
    from soel.session.labels import export_labels
    from soel.session.scores import name_items
    from soel.session.store import copy_events_into_folder

    with closing(open_session(args)) as session:
        if args.events:
            out, n_events = copy_events_into_folder(session), len(session.events)
            text = (
                f"{n_events} events are now in {out} too.\nWithout the server: soel status {args.folder} --store folder"
            )
            return Reply({"out": str(out), "n_events": n_events}, text)
        out, n_entries = export_labels(session, args.format, args.out, name_items(session))
    text = f"{n_entries} entries are in {out}.\nNext: soel import OTHER-DIR {out}"
    form = args.format or out.suffix.lower().removeprefix(".")
    return Reply({"out": str(out), "format": form, "n_entries": n_entries}, text)


def run_import(args: argparse.Namespace) -> Reply:
    """Store the labels of a file."""
    from soel.session.labels import import_labels

    with closing(open_session(args)) as session:
        stored = import_labels(session, args.file, args.who)
        n_labels = len(session.state.labels)
    text = (
        f"{stored.n_stored} entries stored{stored.words}; {n_labels} items are labelled.\nNext: soel fit {args.folder}"
    )
    return Reply({**asdict(stored), "n_labels": n_labels}, text)


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


def run_replay(args: argparse.Namespace) -> Reply:
    """Compute everything again and compare."""
    from soel.session.replays import replay_session

    with closing(open_session(args)) as session, progress_bar("Repeating") as bar:
        steps = replay_session(session, bar)
    n_different = sum(bool(step.difference) for step in steps)
    lines = [f"{step.what}: {step.difference or 'the same'}" for step in steps]
    summary = (
        f"{n_different} of {len(steps)} steps differ." if n_different else f"All {len(steps)} steps came out the same."
    )
    document = {"same": not n_different, "steps": [asdict(step) for step in steps]}
    return Reply(document, "\n".join([*lines, summary]), Exit.DIFFERS if n_different else Exit.DONE)


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
