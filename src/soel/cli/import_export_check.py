"""Labels in and out, and whether a session is whole: import, export, check."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Exit, Reply, add_place, open_session
from soel.errors import ConfigError

if TYPE_CHECKING:
    from soel.session.merge import TakenLabels

FORMATS = ("csv", "json", "xlsx", "parquet", "label-studio", "coco")


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    export = verbs.add_parser("export", parents=[common], help="write all labels to a file")
    add_place(export)
    export.add_argument("--format", choices=FORMATS, help="default: as the suffix of --out says, else csv")
    export.add_argument("--out", metavar="FILE", type=Path, help="default: DIR/labels.csv and the like")
    export.add_argument("--events", action="store_true", help="copy the events from the server into DIR instead")
    export.set_defaults(handler=run_export)
    take = verbs.add_parser("import", parents=[common], help="store the labels of a file or another session")
    add_place(take)
    take.add_argument("source", metavar="FILE | DIR", type=Path, help="CSV, JSON, Label Studio, or a session's folder")
    take.add_argument("--who", metavar="NAME", help="the annotator, in place of the names in the file")
    take.set_defaults(handler=run_import)
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
            out, n_events = copy_events_into_folder(session.folder, session.events), len(session.events)
            text = (
                f"{n_events} events are now in {out} too.\nWithout the server: soel status {args.folder} --store folder"
            )
            return Reply({"out": str(out), "n_events": n_events}, text)
        out, n_entries = export_labels(session, args.format, args.out, name_items(session))
    text = f"{n_entries} entries are in {out}.\nNext: soel import OTHER-DIR {out}"
    form = args.format or out.suffix.lower().removeprefix(".")
    return Reply({"out": str(out), "format": form, "n_entries": n_entries}, text)


def run_import(args: argparse.Namespace) -> Reply:
    """Store the labels of a file, or of another session."""
    from soel.session.labels import import_labels
    from soel.session.merge import take_labels

    if args.source.is_dir() and args.who is not None:
        raise ConfigError("--who names the annotator of a file; the answers of a session keep their names.")
    with closing(open_session(args)) as session:
        if args.source.is_dir():
            taken = take_labels(session, args.source)
            document, words = asdict(taken), _describe_taken(taken)
        else:
            stored = import_labels(session, args.source, args.who)
            document, words = asdict(stored), f"{stored.n_stored} entries stored{stored.words}."
        state = session.state
    disputes = list(state.disagreements)
    lines = [f"{words} {len(state.labels)} items are labelled."]
    if disputes:
        lines.append(f"People disagree on {len(disputes)} items: soel decide {args.folder} ITEM anomaly.")
    document |= {"n_labels": len(state.labels), "disagreements": disputes}
    return Reply(document, "\n".join([*lines, f"Next: soel fit {args.folder}"]))


def _describe_taken(taken: TakenLabels) -> str:
    """In words, what was taken over from elsewhere."""
    known = f", {taken.n_known} were known" if taken.n_known else ""
    left = f"; {taken.n_left_out} are about items that are not here" if taken.n_left_out else ""
    return f"{taken.n_stored} answers were taken over, matched by {taken.by}{known}{left}."


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
