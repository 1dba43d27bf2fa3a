"""The command `soel`: reads the arguments, runs one verb, prints its reply."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from typing import Any, NoReturn

from soel import __version__
from soel.cli.arguments import Exit, Reply
from soel.cli.look_columns import as_flag
from soel.errors import ClusterLostError, ConfigError, SoelError
from soel.text import name_options, show

VERBS = {  # in groups, each with the module that has it: only that of the verb at hand is imported
    "every day": {
        "init": "soel.cli.init_demo",
        "label": "soel.cli.label_page",
        "look": "soel.cli.look_columns",
        "ask": "soel.cli.ask_tell_undo",
        "tell": "soel.cli.ask_tell_undo",
        "undo": "soel.cli.ask_tell_undo",
        "fit": "soel.cli.fit_score_report",
        "score": "soel.cli.fit_score_report",
        "report": "soel.cli.fit_score_report",
        "status": "soel.cli.status",
        "demo": "soel.cli.init_demo",
    },
    "unattended": dict.fromkeys(("watch", "models", "serve"), "soel.cli.unattended"),
    "data": dict.fromkeys(("add", "remove", "import", "export", "check", "set"), "soel.cli.manage"),
    "team": dict.fromkeys(("decide", "assign"), "soel.cli.manage"),
    "research": {"reproduce": "soel_paper.verbs"},
}
ELSEWHERE = {
    "train": "`soel fit DIR` learns from the answers",
    "predict": "`soel score DIR --data FILE` scores rows",
}


class Parser(argparse.ArgumentParser):
    """A parser whose complaints look like every other error of soel."""

    def error(self, message: str) -> NoReturn:
        """Raise what `main` prints."""
        raise ConfigError(f"{message}. See `{self.prog} --help`.")

    def format_help(self) -> str:
        """With all threshold rules, which are imported only for it."""
        for action in (each for each in self._actions if each.metavar == "RULE"):
            from soel.assess.threshold import RULES

            action.help = f"{action.help}: {'; '.join(f'{rule.example}, {rule.help}' for rule in RULES.values())}"
        return super().format_help()

    def parse_words(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments; a verb or an option that does not exist is told with those that are like it."""
        verbs: dict[str, argparse.ArgumentParser] = self.get_default("verbs")
        words = [*words[1:2], "--help"] if words[:1] == ["help"] else words  # `soel help VERB` is `soel VERB --help`
        if words and not words[0].startswith("-") and words[0] not in verbs:
            hint = ELSEWHERE.get(words[0]) or _like(words[0], verbs)
            raise ConfigError(f"there is no verb {words[0]!r}.{_sentence(hint)} See `{self.prog} help`.")
        args, unknown = self.parse_known_args(words)
        if unknown:
            parser = verbs[args.verb]
            names = [word.partition("=")[0] for word in unknown]
            known = [name for action in parser._actions for name in action.option_strings]
            hints = "".join(_sentence(_like(name, known)) for name in names if name.startswith("-"))
            raise ConfigError(
                f"unrecognized arguments: {' '.join(unknown)}.{hints} See `{self.prog} help {args.verb}`."
            )
        return args


def _like(name: str, known: Iterable[str]) -> str:
    """A question about names that are like this one; empty where none is."""
    found = get_close_matches(name, list(known), n=3, cutoff=0.7)
    return f"did you mean {' or '.join(found)}?" if found else ""


def _sentence(hint: str) -> str:
    return f" {hint[0].upper()}{hint[1:]}{'' if hint.endswith('?') else '.'}" if hint else ""


def common_options() -> argparse.ArgumentParser:
    """Options of every verb."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document")
    common.add_argument("--debug", action="store_true", help="show the trace of an error")
    return common


def build_parser(verb: str | None = None) -> Parser:
    """The command line: as far as this verb needs it, or the whole of it."""
    common = common_options()
    parser = Parser(
        prog="soel",
        description="Find anomalies with the help of an expert who can label only a few items.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="soel VERB ...",
    )
    parser.add_argument("--version", action="version", version=f"soel {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, help=argparse.SUPPRESS, prog="soel")
    homes = {name: module for group in VERBS.values() for name, module in group.items()}
    for module in dict.fromkeys([homes[verb]] if verb in homes else homes.values()):
        import_module(module).add(verbs, common)
    parser.set_defaults(verbs=dict(verbs.choices))
    parser.epilog = "\n".join(_list_verbs({action.dest: action.help or "" for action in verbs._choices_actions}))
    return parser


def _list_verbs(summaries: Mapping[str, str]) -> Iterator[str]:
    """The verbs in groups, each with what it does."""
    for group, names in VERBS.items():
        yield f"{group}:"
        yield from (f"    {name:<12}{summaries[name]}" for name in names if name in summaries)
        yield ""
    yield "`soel label FILE` opens the page, `soel help VERB` shows the options of a verb."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Returns how it ended (see `Exit`)."""
    return run(build_parser, sys.argv[1:] if argv is None else argv)


def run(build: Callable[[str | None], Parser], words: Sequence[str]) -> int:
    """Parse these words, run their verb, print its reply or what went wrong. Returns how it ended."""
    # Before torch is loaded: threads that spin long for one another make a busy machine four times slower.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    leading = list(takewhile({"--debug", "--json"}.__contains__, words))  # these two may stand before the verb as well
    words = [*words[len(leading) :], *leading]
    try:
        args = build(words[0] if words else None).parse_words(words)
        reply: Reply = args.handler(args)
        _print(reply, args.json)
    except SystemExit as ended:  # help and the version, which argparse prints by itself
        return int(ended.code or 0)
    except KeyboardInterrupt:
        print("soel: interrupted; what was stored before is safe.", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except ClusterLostError as error:
        _leave(_fail(words, error.message, Exit.REFUSED))
    except SoelError as error:
        return _fail(words, error.message, Exit.REFUSED)
    except OSError as error:
        return _fail(words, str(error), Exit.REFUSED)
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        return _fail(words, f"this takes more memory than there is{why}. Give fewer rows or columns.", Exit.REFUSED)
    except Exception as error:
        hint = "" if "--debug" in words else " Run it again with --debug for the trace."
        return _fail(words, f"this is a bug: {type(error).__name__}: {error}.{hint}", Exit.BUG)
    return reply.code


def _print(reply: Reply, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_plain(reply.document), ensure_ascii=False, indent=2, allow_nan=False), flush=True)
    else:
        print(_visible(name_options(reply.text, as_flag)), flush=True)


def _fail(words: Sequence[str], message: str, code: int) -> int:
    """Say what went wrong: in words on standard error, and as the one document where JSON was asked for."""
    message = name_options(message, as_flag)
    if "--debug" in words:
        traceback.print_exc()
    if "--json" in words:
        print(json.dumps({"error": message}, ensure_ascii=False))
    print(_visible(f"soel: {message}"), file=sys.stderr)
    return code


def _visible(message: str) -> str:
    """Names from a file may be in a message or a reply; a terminal must not obey them."""
    return "\n".join(map(show, message.split("\n")))


def _leave(code: int) -> NoReturn:
    """End at once: threads of Ray that wait for a lost head crash an orderly end."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _plain(value: Any) -> Any:
    """The value with null for numbers that JSON does not have, and options as flags."""
    if isinstance(value, str):
        return name_options(value, as_flag)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
