"""How the site is built: Markdown pages, the reference from docstrings, nothing from the network."""

from __future__ import annotations

import argparse
import re
from typing import Any

import soel
from soel.cli.main import build_parser

project = "soel"
author = "The soel developers"
version = release = soel.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["results/*"]
html_theme = "furo"
html_title = f"soel {version}"
html_copy_source = html_show_sourcelink = False
myst_heading_anchors = 3
default_role = "code"  # docstrings are written with single backticks, as Markdown has them
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_use_rtype = False
napoleon_use_ivar = True


def setup(app: Any) -> None:
    """What the pages take from the code while the site is built."""
    app.connect("autodoc-process-docstring", _keep_underscores, priority=900)
    app.connect("autodoc-skip-member", _skip_routing)
    app.connect("source-read", _describe_verbs)


def _skip_routing(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """scikit-learn's own methods for routing metadata refer to pages that are not here."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _keep_underscores(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Names such as `threshold_` are names in our docstrings, not references as reStructuredText has them."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        lines[number] = "".join(p if p.startswith("`") else re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", p) for p in parts)


def _describe_verbs(app: Any, page: str, source: list[str]) -> None:
    """The verbs with their options, from the parser itself."""
    if page == "reference/command-line":
        source[0] = source[0].replace("<!-- verbs -->", "\n".join(_verbs(build_parser(), "soel")))


def _verbs(parser: argparse.ArgumentParser, name: str) -> list[str]:
    lines: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help for choice in action._choices_actions}
            for verb, child in action.choices.items():
                lines += [f"## {name} {verb}", "", _sentence(helps.get(verb) or ""), "", *_options(child)]
                lines += _verbs(child, f"{name} {verb}")
    return lines


def _options(parser: argparse.ArgumentParser) -> list[str]:
    shown = [
        action
        for action in parser._actions
        if action.dest not in ("help", "json", "debug") and not isinstance(action, argparse._SubParsersAction)
    ]
    rows = [f"| `{_usage(action)}` | {_filled(action)} |" for action in shown]
    return ["| | |", "|---|---|", *rows, ""] if rows else []


def _usage(action: argparse.Action) -> str:
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    value = "" if action.nargs == 0 else "|".join(action.choices) if action.choices and not action.metavar else value
    return " ".join(word for word in (*action.option_strings[-1:], str(value)) if word).replace("|", "\\|")


def _filled(action: argparse.Action) -> str:
    return ((action.help or "") % vars(action)).replace("|", "\\|")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "." if words else ""
