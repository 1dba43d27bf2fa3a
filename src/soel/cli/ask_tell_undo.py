"""The expert's part: ask, tell, undo."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Reply, add_verb, open_session
from soel.errors import ConfigError, LabelError, SessionError, SoelError
from soel.report.progress import progress_bar
from soel.text import count

if TYPE_CHECKING:
    from soel.session import Session, TellResult


EXPERT = "expert"


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    ask = add_verb(verbs, common, run_ask, "write the open questions as a sheet to fill in")
    ask.add_argument("-n", type=int, metavar="N", help="how many items a new round asks about (default: 10)")
    ask.add_argument("--next", action="store_true", help="print the one item to look at next, knowing all answers")
    ask.add_argument("--who", metavar="NAME", help="with --next: who will look at it (default: expert)")
    ask.add_argument("--spot-check", type=int, metavar="N", help="draw N items at random, to check the result")
    ask.add_argument("--not-sure", action="store_true", help="ask first about items that the last fit is not sure of")
    ask.add_argument("--out", metavar="FILE.csv", type=Path, help="the sheet (default: DIR/round-0001.csv)")
    ask.add_argument("--no-cover", action="store_true", help="of a sampled pool: do not look how it covers all rows")
    tell = add_verb(verbs, common, run_tell, "store an expert's answers")
    tell.add_argument("answers", metavar="FILE.csv | ID=ANSWER[:COLUMN;...]", nargs="+")
    tell.add_argument("--who", default=EXPERT, help="the annotator's name (default: expert)")
    undo = add_verb(verbs, common, run_undo, "take back the last answer")
    undo.add_argument("--who", default=EXPERT, help="the annotator whose answer it was (default: expert)")


def run_ask(args: argparse.Namespace) -> Reply:
    """Write the open questions as a sheet."""
    from soel.cli.sheet import write_sheet

    if args.n is not None and args.spot_check is not None:
        raise ConfigError("-n asks for what is worth learning, --spot-check N for what checks the result; choose one.")
    if args.not_sure and args.spot_check is not None:
        raise ConfigError(
            "A spot check is drawn by chance, so it cannot prefer what is not sure; choose one of the two."
        )
    if args.no_cover and (args.next or args.spot_check is not None):
        raise ConfigError("--no-cover is about a round that is drawn to learn from; leave it out.")
    if args.next:
        return _ask_next(args)
    if args.who is not None:
        raise ConfigError("--who says for whom --next is; leave it out, or ask with --next.")
    with closing(open_session(args)) as session:
        with progress_bar("Warming up") as bar:
            if args.spot_check is not None:
                asked = session.spot_check(args.spot_check, bar)
            else:
                asked = session.ask(args.n, bar, args.not_sure)
        out = args.out or args.folder / f"round-{asked.round:04d}.csv"
        write_sheet(session, asked.items, out)
        looks = asked.drawn and not args.no_cover and args.spot_check is None
        cover, covered = _cover(session) if looks else ({}, [])
    how = "drawn now" if asked.drawn else "drawn before and still open"
    lines = [
        f"Round {asked.round}: {count(len(asked.items), 'item')}, {how}: {out}.",
        *covered,
        "Fill its column 'label' with anomaly, normal, skip or unsure.",
        f"Next: soel tell {args.folder} {out}",
    ]
    return Reply({"session": session.config.session, "out": str(out), **asdict(asked), **cover}, "\n".join(lines))


def _ask_next(args: argparse.Namespace) -> Reply:
    """The one item to look at next: a round is drawn where none is open; an open one is updated with all answers."""
    if args.spot_check is not None or args.out is not None:
        raise ConfigError("--next prints one item; leave out --spot-check and --out, or ask without --next.")
    from soel.session.item_tables import readable_rows

    with closing(open_session(args)) as session:
        with progress_bar("Warming up") as bar:
            asked = session.ask(args.n, bar, args.not_sure)
            refined = session.refine(bar) is not None
        who = args.who or EXPERT
        items = session.next_items(who)
        if not items:
            raise SessionError(f"Nothing is open for {who!r}: the rest is with others. Ask again later.")
        header, rows = readable_rows(session.folder, items)
        n_open = len(session.state.open)
    (item,), values = items, dict(zip(header, rows[0], strict=True))
    document = {"session": session.config.session, "round": asked.round, "drawn": asked.drawn}
    document |= {"refined": refined, "item": item, "values": values, "n_open": n_open}
    lines = [
        f"Item {item}, in round {asked.round}:",
        *(f"  {name}: {value}" for name, value in values.items()),
        f"Next: soel tell {args.folder} {item}=anomaly (or normal, skip, unsure), then soel ask {args.folder} --next",
    ]
    return Reply(document, "\n".join(lines))


def _cover(session: Session) -> tuple[dict[str, Any], list[str]]:
    """What thinning costs, for a session on a sample. The round is drawn already: nothing here may fail."""
    if not session.folder.all_data:
        return {}, []
    from soel.session.item_tables import read_encoder
    from soel.session.pool import measure_cover

    try:
        with progress_bar("Looking at all rows") as bar:
            cover = measure_cover(session, read_encoder(session.folder), bar)
    except SoelError as error:
        return {}, [f"How the pool covers all rows could not be measured: {error}"]
    if cover is None:
        return {}, []
    radii = f"{cover.pool:.3g} over the pool, {cover.whole:.3g} over all {cover.n_rows} rows"
    return {"cover": asdict(cover)}, [f"Cover radius of the {cover.n_queries} items asked or labelled: {radii}."]


def run_tell(args: argparse.Namespace) -> Reply:
    """Store an expert's answers."""
    with closing(open_session(args)) as session:
        stored = _tell(session, args.answers, args.who)
        document, text = _after(session, args.folder)
    return Reply({**asdict(stored), **document}, f"{count(stored.n_stored, 'answer')} stored{stored.words}. {text}")


def run_undo(args: argparse.Namespace) -> Reply:
    """Take back the last answer."""
    with closing(open_session(args)) as session:
        session.undo(args.who)
        document, text = _after(session, args.folder)
    return Reply({"who": args.who, **document}, f"The last answer of {args.who} was taken back. {text}")


def _tell(session: Session, words: Sequence[str], who: str) -> TellResult:
    """Store answers from a sheet, or from ID=ANSWER pairs; an id may hold an equals sign itself.

    After a colon come the columns that are why, as in the column `because` of a sheet.
    """
    from soel.cli.sheet import tell_sheet
    from soel.session import Answer, read_verdict
    from soel.session.events import read_names
    from soel.session.feedback import record_feedback

    if len(words) == 1 and ("=" not in words[0] or Path(words[0]).is_file()):
        return tell_sheet(session, Path(words[0]), who)
    bare = [word for word in words if "=" not in word]
    if bare:
        raise LabelError(f"{bare[0]!r} is not an answer; write ID=anomaly, or name one sheet alone.")
    pairs = [word.rpartition("=") for word in words]
    parts = [(item, *said.partition(":")[::2]) for item, _, said in pairs]
    answers = [Answer(item, read_verdict(verdict), because=read_names(names) or None) for item, verdict, names in parts]
    if {answer.item for answer in answers} <= set(session.ids):
        return session.tell(answers, who)
    return record_feedback(session, [(who, answer) for answer in answers])  # to alarms of rows that are in no pool


def _after(session: Session, folder: Path) -> tuple[dict[str, Any], str]:
    """What is left of the budget, and what to do next."""
    from soel.report.quality_words import quality_words

    status = session.status()
    document = {
        "n_labels": status.n_labels,
        "n_left": status.n_left,
        "n_open": status.n_open,
        "next": status.next,
        "quality": None if status.quality is None else status.quality.to_json(),
    }
    verb = "ask" if status.next == "tell" else status.next
    lines = [
        f"{count(status.n_left, 'label')} left, {count(status.n_open, 'question')} open.",
        *([] if status.quality is None else quality_words(status.quality)),
        f"Next: soel {verb} {folder}",
    ]
    return document, "\n".join(lines)
