"""The page: label."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from soel.cli.progress import progress
from soel.cli.reply import Reply
from soel.errors import ConfigError


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add this verb to the command line."""
    label = verbs.add_parser("label", parents=[common], help="open the page where an expert labels")
    label.add_argument("data", metavar="DATA", type=Path, help="a table, pictures, a clip, or the folder of a session")
    label.add_argument("--id-column", metavar="COLUMN", help="the column that names each item (new sessions)")
    label.add_argument("--label-column", metavar="COLUMN", help="known labels, kept out of the features (new sessions)")
    label.add_argument("--budget", type=int, default=20, help="labels the expert can give (new sessions; default: 20)")
    label.add_argument("--seed", type=int, default=0, help="where chance starts from (new sessions)")
    label.add_argument("--answers-per-item", type=int, default=1, help="people who label each item (new sessions)")
    label.add_argument("--store", metavar="ADDRESS", help="a PostgreSQL database for the answers")
    label.add_argument("--who", default="expert", help="your name as annotator (default: expert)")
    label.add_argument("--host", default="127.0.0.1", help="the address to serve on (default: this machine only)")
    label.add_argument("--port", type=int, default=0, help="the port (default: the last one, or any)")
    label.add_argument("--name", action="append", default=[], metavar="HOST", help="another name of this machine")
    label.add_argument("--no-browser", action="store_true", help="print the link and open no browser")
    label.set_defaults(handler=run_label)


def run_label(args: argparse.Namespace) -> Reply:
    """Serve the page until it is stopped."""
    from soel.api.sources import MediaOptions

    try:
        from soel.web.launch import launch, open_or_create
        from soel.web.server import Place
    except ImportError as error:
        raise ConfigError(f"The page needs more packages ({error}). Install soel[web].") from error

    with progress("Looking at the pictures") as bar:
        session = open_or_create(args.data, _creation(args) | {"media": MediaOptions(progress=bar)}, args.store)
    folder = session.folder.path
    with closing(session):
        try:
            launch(
                session,
                args.who,
                Place(args.host, args.port, args.name),
                lambda link: _announce(link, args),
                args.store,
            )
        except KeyboardInterrupt:
            print(file=sys.stderr)
    text = f"Stopped; every answer is stored.\nNext: soel label {folder}"
    return Reply({"folder": str(folder), "stopped": True}, text)


def _creation(args: argparse.Namespace) -> dict[str, Any]:
    names = ("id_column", "label_column", "budget", "seed", "answers_per_item")
    return {name: getattr(args, name) for name in names}


def _announce(link: str, args: argparse.Namespace) -> None:
    """Say where the page is, at once; with --json, standard output is kept for the document."""
    out = sys.stderr if args.json else sys.stdout
    print(f"Open {link}\nThe link works once. Stop with Ctrl+C; nothing is lost.", file=out, flush=True)
    if not args.no_browser:
        import webbrowser

        webbrowser.open(link)
