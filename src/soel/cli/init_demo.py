"""Start a session on your own data, or on a table that comes along: init, demo."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import STORE_HELP, Reply, add_engine, cluster_options
from soel.cli.look_columns import (
    add_session_options,
    describe_settings,
    given_options,
    may_ask,
    read_data_settings,
    settle,
    show_columns,
)
from soel.cli.status import describe_sample
from soel.report.progress import progress_bar
from soel.text import count

if TYPE_CHECKING:
    from soel.cli.look_columns import DataSettings
    from soel.tables.read_options import ReadOptions

DATA_HELP = (
    "a table, one row per item, or a folder of Parquet, by path or address; or pictures, a clip, .npz, idx files"
)


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    init = verbs.add_parser(
        "init",
        parents=[common],
        help="start a session in a new folder",
        epilog=describe_settings(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    init.add_argument("folder", metavar="DIR", type=Path)
    init.add_argument("--data", metavar="DATA", required=True, help=DATA_HELP)
    init.add_argument("--store", metavar="ADDRESS", help=f"keep the events on a server; {STORE_HELP}")
    add_session_options(init)
    init.add_argument("--strategy", metavar="NAME", help="how items to ask about are picked (default: the profile's)")
    init.add_argument("--seed", type=int, metavar="N", help="random seed (default: 0)")
    init.add_argument("--answers-per-item", type=int, metavar="N", help="annotators per item (default: 1)")
    init.add_argument(
        "--pool-rows", type=int, metavar="N", help="draw a pool of N rows from a larger table (default: 200000)"
    )
    add_engine(init)
    init.set_defaults(handler=run_init)
    demo = verbs.add_parser("demo", parents=[common], help="run the whole loop on a table that comes with scikit-learn")
    demo.add_argument("--out", type=Path, default=Path("demo"), help="where to put it (default: demo)")
    demo.set_defaults(handler=run_demo)


def run_init(args: argparse.Namespace) -> Reply:
    """Start a session."""
    from soel.session import SessionOptions
    from soel.session.create import create_session
    from soel.session.item_tables import read_encoder
    from soel.session.labels import take_label_column
    from soel.session.pictures import media_summary
    from soel.tables.schema import document_of, warnings_of

    settings = read_data_settings(args)
    columns = settings.columns
    if may_ask(args) and "path_column" not in settings.others:
        columns = _settle_columns(args.data, settings)
    with progress_bar("Reading") as bar:
        session = create_session(
            args.folder,
            args.data,
            SessionOptions(**given_options(args, settings)),
            store=args.store,
            media=settings.media(args.extractor, bar),
            cluster=cluster_options(args),
            columns=columns,
        )
    with closing(session):
        if args.labels_by is not None:
            take_label_column(session, args.labels_by)
        status = session.status()
        reading = read_encoder(session.folder).schema
    notes = media_summary(args.folder)
    doubts = [] if reading is None else warnings_of(reading)
    lines = [
        *([] if reading is None else show_columns(reading)),
        f"Session with {count(status.n_items, 'item')} in {args.folder}, budget: {count(status.budget, 'label')}.",
        *describe_sample(status),
        *notes.values(),
        *doubts,
        f"Next: soel ask {args.folder}",
    ]
    read = {} if reading is None else {"reading": document_of(reading)}
    document = {"folder": str(args.folder), **asdict(status), **notes, "warnings": doubts, **read}
    return Reply(document, "\n".join(lines))


def _settle_columns(data: str, settings: DataSettings) -> ReadOptions:
    """How the columns of a table are to be read, after asking about those that could be meant otherwise."""
    from soel.images.source import is_media
    from soel.tables.look import look_at
    from soel.tables.open import has_table_suffix

    path, columns, named = Path(data), settings.columns, settings.of_session
    if path.is_file() and has_table_suffix(path) and not is_media(path):
        return settle(look_at(data, named.get("id_column"), named.get("label_column"), columns), columns)
    return columns


def run_demo(args: argparse.Namespace) -> Reply:
    """Run the whole loop on a table that comes with scikit-learn."""
    from soel.cli.demo import describe_demo, run_demo_session

    document = run_demo_session(args.out)
    return Reply(document, describe_demo(document))
