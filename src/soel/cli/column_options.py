"""How columns are read: the options, and the questions that a terminal is asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from soel.errors import ConfigError
from soel.tables.options import DATE_ORDERS, DECIMALS, ReadOptions

if TYPE_CHECKING:
    from soel.tables.columns import Column
    from soel.tables.schema import Schema

LISTS = {
    "ignore": "leave these columns out",
    "only": "leave all other columns out",
    "numeric": "read these columns as numbers",
    "categorical": "read these columns as categories",
    "text": "read these columns as free text",
    "time": "read these columns as times",
}
ANSWERS = {"n": "numeric", "c": "categorical", "t": "text", "i": "ignore"}


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how the columns of a table are read."""
    group = parser.add_argument_group("columns of a table")
    for name, what in LISTS.items():
        group.add_argument(f"--{name}", metavar="COLUMN", nargs="+", action="extend", default=[], help=what)
    group.add_argument("--decimal", choices=DECIMALS, help="the decimal sign of numbers")
    group.add_argument("--dates", choices=DATE_ORDERS, help="the order of day, month and year")
    group.add_argument("--drop-duplicates", action="store_true", help="leave out rows that repeat an earlier one")
    group.add_argument("--encoding", metavar="NAME", help="of a text file (default: found out)")
    group.add_argument("--sheet", metavar="NAME", help="of an Excel file")
    group.add_argument("--query", metavar="SQL", help="what to select from a database, or the name of a table in it")
    group.add_argument("--max-unpacked", type=int, metavar="BYTES", help="limit of packed files (default: 4 GiB)")
    group.add_argument("--columns", metavar="FILE", type=Path, help="these settings in a file, TOML or JSON")


def read_column_options(args: argparse.Namespace) -> ReadOptions:
    """The options as one value; what is said on the command line wins over the file."""
    given = ReadOptions(
        **{name: tuple(getattr(args, name)) for name in LISTS},
        decimal=args.decimal,
        dates=args.dates,
        drop_duplicates=args.drop_duplicates,
        strict=ReadOptions.strict,
        encoding=args.encoding,
        sheet=args.sheet,
        query=args.query,
        max_unpacked=ReadOptions.max_unpacked if args.max_unpacked is None else args.max_unpacked,
    )
    return given if args.columns is None else given.over(ReadOptions.from_file(args.columns))


def may_ask(args: argparse.Namespace) -> bool:
    """Whether somebody sits at a terminal who can be asked."""
    return not args.json and sys.stdin.isatty() and sys.stdout.isatty()


def settle(reading: Schema, options: ReadOptions, ask: Callable[[str], str] = input) -> ReadOptions:
    """Ask about the columns that could be meant otherwise; an empty answer takes them as they are read."""
    for column in reading.doubtful:
        options = _settle_column(column, options, ask)
    return options


def _settle_column(column: Column, options: ReadOptions, ask: Callable[[str], str]) -> ReadOptions:
    from soel.tables.schema import describe_kind
    from soel.text import show

    shown = ", ".join(map(show, column.seen.examples))
    print(f"Column {show(column.name)!r} ({shown}) is read as {describe_kind(column)}: {show(column.doubt)}.")
    choices = dict(ANSWERS)
    if "--decimal" in column.doubt:
        choices |= dict.fromkeys(DECIMALS, "decimal")
    if "--dates" in column.doubt:
        choices |= dict.fromkeys(DATE_ORDERS, "dates")
    while True:
        words = ", ".join(f"{key} {what}" for key, what in choices.items())
        answer = ask(f"Enter keeps it; {words}: ").strip().lower()
        if not answer:
            return options
        what = choices.get(answer)
        if what in ("decimal", "dates"):
            return ReadOptions.from_dict(options.to_dict() | {what: answer})
        if what is not None:
            try:
                return ReadOptions.from_dict(options.to_dict() | {what: (*getattr(options, what), column.name)})
            except ConfigError as error:
                print(f"soel: {error}")
