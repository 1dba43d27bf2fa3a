"""The endpoint: serve."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from soel.cli.arguments import STORE_HELP, Reply
from soel.errors import MissingPackageError


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add this verb to the command line."""
    serve = verbs.add_parser("serve", parents=[common], help="score rows behind an HTTP endpoint")
    serve.add_argument("folder", metavar="DIR", type=Path, help="a session with a fit, or a model's folder")
    serve.add_argument("--store", metavar="ADDRESS", help=STORE_HELP)
    serve.add_argument("--host", default="127.0.0.1", help="the address to serve on (default: this machine only)")
    serve.add_argument("--port", type=int, default=8000, help="the port (default: 8000; 0 for any)")
    serve.add_argument("--no-auth", action="store_true", help="ask for no token, which only this machine may")
    serve.set_defaults(handler=run_serve)


def run_serve(args: argparse.Namespace) -> Reply:
    """Serve the model until it is stopped."""
    try:
        from soel.serve.service import serve_model
        from soel.web.launch import Address
    except ImportError as error:
        raise MissingPackageError(f"The endpoint needs more packages ({error}). Install soel[serve].") from error

    def announce(link: str, token: str) -> None:
        said = f"The token is {token}" if token else "No token is asked for"
        print(f"Serving {args.folder} at {link}\n{said}. Stop with Ctrl+C.", file=sys.stderr, flush=True)

    with suppress(KeyboardInterrupt):
        serve_model(args.folder, Address(args.host, args.port), args.no_auth, announce, args.store)
    return Reply({"folder": str(args.folder), "stopped": True}, "Stopped; every request was answered.")
