"""Starting and looking: init, status, demo."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.column_options import add_column_options, may_ask, read_column_options, settle
from soel.cli.options import (
    STORE_HELP,
    add_engine,
    add_place,
    add_session_options,
    cluster_options,
    open_session,
    read_session_options,
)
from soel.cli.reply import Reply
from soel.cli.verbs_features import add_media_options, describe_media, read_media_options
from soel.cli.verbs_grow import add_description, describe_taken
from soel.errors import ConfigError, SoelError
from soel.report.progress import progress_bar

if TYPE_CHECKING:
    from soel.session import Session, Status
    from soel.session.merge import TakenLabels
    from soel.session.people import Person
    from soel.tables.options import ReadOptions

HINTS = {
    "ask": "soel ask {folder}",
    "tell": "soel tell {folder} FILE.csv",
    "fit": "soel fit {folder}",
    "score": "soel score {folder}",
}


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    _add_init(verbs, common)
    status = verbs.add_parser("status", parents=[common], help="say where a session stands")
    add_place(status)
    status.set_defaults(handler=run_status)
    demo = verbs.add_parser("demo", parents=[common], help="run the whole loop on a table that comes with scikit-learn")
    demo.add_argument("--out", type=Path, default=Path("demo"), help="where to put it (default: demo)")
    demo.set_defaults(handler=run_demo)


def _add_init(verbs: Any, common: argparse.ArgumentParser) -> None:
    init = verbs.add_parser("init", parents=[common], help="start a session in a new folder")
    init.add_argument("folder", metavar="DIR", type=Path)
    init.add_argument("--data", metavar="DATA", required=True, help=DATA_HELP)
    init.add_argument("--store", metavar="ADDRESS", help=f"keep the events on a server; {STORE_HELP}")
    add_session_options(init)
    init.add_argument("--labels", metavar="DIR|FILE", type=Path, help="take over answers of an earlier session or file")
    add_description(init)
    init.add_argument("--labels-by", metavar="NAME", help="take the labels of --label-column in as answers of NAME")
    add_column_options(init)
    add_media_options(init)
    add_engine(init)
    init.set_defaults(handler=run_init)


DATA_HELP = (
    "a table, one row per item, or a folder of Parquet, by path or address; or pictures, a clip, .npz, idx files"
)


def run_init(args: argparse.Namespace) -> Reply:
    """Start a session."""
    from soel.cli.verbs_look import show_columns
    from soel.session.create import create_session
    from soel.session.items import read_encoder
    from soel.session.labels import take_label_column
    from soel.tables.schema import document_of, warnings_of

    columns = _settle_columns(args)
    if args.labels is not None and not args.labels.exists():
        raise ConfigError(f"{args.labels} does not exist. Name the folder of a session, or a file of labels.")
    with progress_bar("Reading") as bar:
        session = create_session(
            args.folder,
            args.data,
            read_session_options(args),
            store=args.store,
            media=read_media_options(args, bar),
            cluster=cluster_options(args),
            columns=columns,
        )
    with closing(session):
        if args.labels_by is not None:
            take_label_column(session, args.labels_by)
        taken = None if args.labels is None else _take_labels(session, args.labels)
        if args.name is not None or args.description is not None:
            session.describe(args.name, args.description)
        status = session.status()
        reading = read_encoder(session.folder).schema
    text = f"Session with {status.n_items} items and a budget of {status.budget} labels in {args.folder}."
    notes = describe_media(args.folder)
    doubts = [] if reading is None else warnings_of(reading)
    over = [] if taken is None else [describe_taken(taken)]
    columns_read = [] if reading is None else show_columns(reading)
    lines = [
        *columns_read,
        text,
        *over,
        *_describe_sample(status),
        *notes.values(),
        *doubts,
        f"Next: soel ask {args.folder}",
    ]
    read = {} if reading is None else {"reading": document_of(reading)}
    document = {"folder": str(args.folder), **asdict(status), **notes, "warnings": doubts, **read}
    document |= {} if taken is None else {"labels": asdict(taken)}
    return Reply(document, "\n".join(lines))


def _take_labels(session: Session, source: Path) -> TakenLabels:
    """Answers from elsewhere for a session that has just been made; what goes wrong here leaves it without them."""
    from soel.session.merge import take_labels

    try:
        return take_labels(session, source)
    except SoelError as error:
        raise type(error)(f"{error} The session is there, without answers: {session.folder.path}.") from error


def _settle_columns(args: argparse.Namespace) -> ReadOptions:
    """How columns are to be read; whoever sits at a terminal is asked about those that could be meant otherwise."""
    columns = read_column_options(args)
    if may_ask(args) and Path(args.data).is_file() and args.path_column is None:
        from soel.images.source import is_media
        from soel.tables.look import look_at
        from soel.tables.open import has_table_suffix

        if has_table_suffix(Path(args.data)) and not is_media(Path(args.data)):
            return settle(look_at(args.data, args.id_column, args.label_column, columns), columns)
    return columns


def run_status(args: argparse.Namespace) -> Reply:
    """Say where a session stands."""
    with closing(open_session(args)) as session:
        status = session.status()
    return Reply({"folder": str(args.folder), **asdict(status)}, _describe(status, args.folder))


def run_demo(args: argparse.Namespace) -> Reply:
    """Run the whole loop on a table that comes with scikit-learn."""
    from soel.cli.demo import describe_demo, run_demo_session

    document = run_demo_session(args.out)
    return Reply(document, describe_demo(document))


def _describe_sample(status: Status) -> list[str]:
    """In words, what part of the data the pool is; nothing where it is all of them."""
    if status.n_rows is None or status.n_rows == status.n_items:
        return []
    drawn = f"{status.n_items} of {status.n_rows} rows were drawn"
    return [f"The pool is a random sample: {drawn}. `soel score` looks at all of them."]


def _describe_people(people: Sequence[Person]) -> list[str]:
    """What each one did, where there is more than one; of one alone the session's own figures say it."""
    if len(people) < 2 and not any(person.n_assigned for person in people):
        return []
    from soel.text import format_table

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


def _describe(status: Status, folder: Path) -> str:
    from soel.report.quality_words import quality_lines, rough_lines

    lines = [
        *([status.name] if status.name else []),
        *([status.description] if status.description else []),
        f"{status.source}: {status.n_items} items, round {status.round}, {status.n_open} questions open.",
        *_describe_sample(status),
        f"Labels: {status.n_labels} of {status.budget}, {status.n_anomalies} of them anomalies; "
        f"{status.n_set_aside} items set aside.",
    ]
    lines += _describe_people(status.people)
    if status.n_disagreements:
        lines.append(f"Annotators disagree about {status.n_disagreements} items; settle them with `soel decide`.")
    if status.estimate is not None:
        low, high = status.estimate.low, status.estimate.high
        lines.append(f"Contamination: by the last fit roughly {status.estimate.value:.3f} ({low:.3f} to {high:.3f}).")
    if status.quality is not None:
        lines += quality_lines(status.quality)
    if status.figures is not None:
        lines += rough_lines(status.figures)
    if status.model is not None:
        age = "" if status.fit_is_current else ", older than the labels or the data"
        lines.append(f"Model: {status.model.folder}{age}.")
    return "\n".join([*lines, "Next: " + HINTS[status.next].format(folder=folder)])
