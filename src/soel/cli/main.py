"""The command `soel`: reads the arguments, runs one verb, prints its reply."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from soel import __version__
from soel.cli import (
    verbs_features,
    verbs_grow,
    verbs_label,
    verbs_look,
    verbs_model,
    verbs_research,
    verbs_share,
    verbs_start,
    verbs_web,
)
from soel.cli.reply import Exit, Reply
from soel.errors import ClusterLostError, ConfigError, SoelError

ORDER = """The page where an expert labels: soel label FILE

A session, step by step:
  soel look FILE               how its columns are read
  soel init DIR --data FILE    start
  soel ask DIR                 write the questions as a sheet
  soel tell DIR SHEET.csv      store the answers (soel undo DIR takes one back)
  soel fit DIR                 learn from them
  soel score DIR               scores, ranks, alarms
  soel report DIR              one HTML page

Later on:
  soel add DIR --data FILE     take in more data; labels stay
  soel extend DIR 10           ten more questions
  soel sessions                the sessions in this folder, and where each stands
"""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints look like every other error of soel."""

    def error(self, message: str) -> NoReturn:
        """Raise what `main` prints."""
        raise ConfigError(f"{message}. See `{self.prog} --help`.")


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document")
    common.add_argument("--debug", action="store_true", help="show the trace of an error")
    parser = Parser(
        prog="soel",
        description="Find anomalies with the help of an expert who can label only a few items.",
        epilog=ORDER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"soel {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    rooms = (
        verbs_start,
        verbs_look,
        verbs_features,
        verbs_label,
        verbs_model,
        verbs_grow,
        verbs_research,
        verbs_web,
        verbs_share,
    )
    for room in rooms:
        room.add(verbs, common)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Returns how it ended (see `Exit`)."""
    # Before torch is loaded: threads that spin long for one another make a busy machine four times slower.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        args = build_parser().parse_args(words)
        reply: Reply = args.handler(args)
        _print(reply, args.json)
    except KeyboardInterrupt:
        print("soel: interrupted; what was stored before is safe.", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except ClusterLostError as error:
        _leave(_fail(words, str(error), Exit.REFUSED))
    except (SoelError, OSError) as error:
        return _fail(words, str(error), Exit.REFUSED)
    except Exception as error:
        hint = "" if "--debug" in words else " Run it again with --debug for the trace."
        return _fail(words, f"this is a bug: {type(error).__name__}: {error}.{hint}", Exit.BUG)
    return reply.code


def _print(reply: Reply, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_plain(reply.document), ensure_ascii=False, indent=2, allow_nan=False), flush=True)
    else:
        print(_visible(reply.text), flush=True)


def _fail(words: Sequence[str], message: str, code: int) -> int:
    """Say what went wrong: in words on standard error, and as the one document where JSON was asked for."""
    if "--debug" in words:
        traceback.print_exc()
    if "--json" in words:
        print(json.dumps({"error": message}, ensure_ascii=False))
    print(_visible(f"soel: {message}"), file=sys.stderr)
    return code


def _visible(message: str) -> str:
    """Names from a file may be in a message or a reply; a terminal must not obey them."""
    from soel.report.text import show

    return "\n".join(map(show, message.split("\n")))


def _leave(code: int) -> NoReturn:
    """End at once: threads of Ray that wait for a lost head crash an orderly end."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _plain(value: Any) -> Any:
    """The value with null for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
