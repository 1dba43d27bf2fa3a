"""The page where an expert labels: label."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Reply
from soel.cli.look_columns import (
    add_session_options,
    describe_ignored,
    describe_settings,
    given_options,
    may_ask,
    read_data_settings,
    settle,
)
from soel.errors import ConfigError
from soel.report.progress import Bar

if TYPE_CHECKING:
    from soel.session.request import Creation
    from soel.session.worker import JobStatus


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add this verb to the command line."""
    label = verbs.add_parser(
        "label",
        parents=[common],
        help="open the page where an expert labels",
        epilog=describe_settings(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    label.add_argument("data", metavar="DATA", type=Path, help="a table, pictures, a clip, or the folder of a session")
    label.add_argument("--store", metavar="ADDRESS", help="a PostgreSQL database for the answers")
    label.add_argument("--who", default="expert", help="your name as annotator (default: expert)")
    label.add_argument("--host", default="127.0.0.1", help="the address to serve on (default: this machine only)")
    label.add_argument("--port", type=int, default=0, help="the port (default: the last one, or any)")
    label.add_argument("--hostname", action="append", default=[], metavar="HOST", help="another name of this machine")
    label.add_argument("--https", action="store_true", help="a proxy before the page speaks HTTPS with browsers")
    label.add_argument(
        "--trusted-proxy", action="append", default=[], metavar="ADDRESS", help="a proxy whose forwarded headers count"
    )
    label.add_argument("--no-browser", action="store_true", help="print the link and open no browser")
    add_session_options(label)
    label.set_defaults(handler=run_label)


def run_label(args: argparse.Namespace) -> Reply:
    """Serve the page until it is stopped."""
    from soel.checks import clean_name
    from soel.session import SessionOptions
    from soel.session.request import Creation

    try:
        from soel.web.launch import Address, launch
    except ImportError as error:
        raise ConfigError(f"The page needs more packages ({error}). Install soel[web].") from error

    who, address = clean_name(args.who), Address(args.host, args.port, args.hostname, args.https, args.trusted_proxy)
    _check_folder(args.data)
    settings = read_data_settings(args)
    given, media = given_options(args, settings), settings.media(args.extractor, None)
    labels_by = None if args.labels_by is None else clean_name(args.labels_by)
    creation = Creation(args.data, SessionOptions(**given), args.store, media, settings.columns, labels_by)
    creation.check()
    asks_here = may_ask(args) and _settle(creation)
    if creation.is_done and given:
        print(describe_ignored(creation.folder, list(given)), file=sys.stderr, flush=True)
    with suppress(KeyboardInterrupt):
        launch(
            creation,
            who,
            address,
            lambda link: _announce(link, args),
            TerminalProgress(),
            args.store,
            asks=not asks_here,
        )
    return _describe_end(creation.folder, creation.is_done, args.data)


def _check_folder(data: Path) -> None:
    """A folder of sessions is none itself, and holds no pictures: say which sessions there are."""
    from soel.images.source import is_media

    inside = [path for path in data.iterdir() if not path.name.startswith(".")] if data.is_dir() else []
    found = [path for path in inside if (path / "config.json").is_file()]
    if found and not any(is_media(path) for path in inside if path not in found):
        shown = ", ".join(map(str, sorted(found)[:5])) + (" and more" if len(found) > 5 else "")
        raise ConfigError(
            f"{data} holds sessions: {shown}. Name one of them; `soel status {data} --page sessions.html` lists them."
        )


def _settle(creation: Creation) -> bool:
    """Ask at the terminal about columns that could be meant otherwise; returns whether there were any."""
    reading = creation.look()
    if reading is None or not reading.doubtful:
        return False
    creation.choose(settle(reading, creation.columns), None, None)
    return True


def _describe_end(folder: Path, is_done: bool, data: Path) -> Reply:
    if is_done:
        text = f"Stopped; every answer is stored.\nNext: soel label {folder}"
    else:
        text = f"Stopped before the session was there; what was computed is kept.\nNext: soel label {data}"
    return Reply({"folder": str(folder), "stopped": True, "prepared": is_done}, text)


class TerminalProgress:
    """Shows the preparation in the terminal too: a bar, and in a sentence what went wrong."""

    def __init__(self) -> None:
        self._bar, self._error = Bar("Preparing the session", sys.stderr), ""

    def __call__(self, now: JobStatus | None) -> None:
        """Take in how far it is; None when it is over."""
        if now is None or now.error:
            self._bar.close()
        elif now.total:
            self._bar(now.done, now.total)
        error = "" if now is None else now.error
        if error and error != self._error:
            print(f"The session could not be prepared: {error}", file=sys.stderr, flush=True)
        self._error = error


def _announce(link: str, args: argparse.Namespace) -> None:
    """Say where the page is, at once; with --json, standard output is kept for the document."""
    out = sys.stderr if args.json else sys.stdout
    print(f"Open {link}\nThe link works once. Stop with Ctrl+C; nothing is lost.", file=out, flush=True)
    if not args.no_browser:
        import webbrowser

        webbrowser.open(link)
