"""Looking at a table before anything is computed: look."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from soel.cli.column_options import add_column_options, read_column_options
from soel.cli.reply import Reply
from soel.text import percent

if TYPE_CHECKING:
    from soel.tables.columns import Column
    from soel.tables.schema import Schema

WIDEST = 28  # letters of a name or an example
MOST_COLUMNS = 200  # more are not shown in full; --json has them all


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    look = verbs.add_parser("look", parents=[common], help="show how the columns of a table are read")
    look.add_argument("data", metavar="DATA", help="a table")
    look.add_argument("--id-column", metavar="COLUMN", help="the column that names each item")
    look.add_argument("--label-column", metavar="COLUMN", help="a column of known labels")
    add_column_options(look)
    look.set_defaults(handler=run_look)


def run_look(args: argparse.Namespace) -> Reply:
    """Show how a table is read."""
    from soel.tables.address import hide_password
    from soel.tables.look import look_at
    from soel.tables.schema import document_of

    reading = look_at(args.data, args.id_column, args.label_column, read_column_options(args))
    data = hide_password(args.data)
    return Reply({"data": data, **document_of(reading)}, show_reading(reading, data))


def show_reading(reading: Schema, data: str) -> str:
    """The readings as a table for a terminal, with what is odd and what is doubtful below."""
    from soel.tables.schema import warnings_of
    from soel.text import show

    size = f"{_count(reading.n_rows, 'row')}, {_count(len(reading.columns), 'column')}"
    head = f"{show(data)}: {size}{_file(reading)}."
    doubts = [f"  {show(warning)}" for warning in warnings_of(reading)]
    unsure = ["Not sure:", *doubts] if doubts else []
    return "\n".join([head, *show_columns(reading), *unsure, f"Next: soel init DIR --data {show(data)}"])


def show_columns(reading: Schema) -> list[str]:
    """How each column is read, as a table, and what is odd about it."""
    from soel.text import format_table, show

    header = ["column", "read as", "becomes", "values", "from", "to", "missing", "distinct", "changed by"]
    lines = [format_table(header, [_row(each, reading.n_rows) for each in reading.columns[:MOST_COLUMNS]])]
    if len(reading.columns) > MOST_COLUMNS:
        lines.append(f"... and {len(reading.columns) - MOST_COLUMNS:,} more columns; --json shows all of them.")
    odd = [
        f"  {show(each.name)}: {'; '.join(map(show, each.seen.oddities))}"
        for each in reading.columns
        if each.seen.oddities
    ]
    lines += ["Odd:", *odd[:MOST_COLUMNS]] if odd else []
    if reading.n_duplicates and not reading.drop_duplicates:
        rows = "1 row repeats" if reading.n_duplicates == 1 else f"{reading.n_duplicates:,} rows repeat"
        lines.append(f"{rows} an earlier one (kept; see --drop-duplicates).")
    return lines


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _file(reading: Schema) -> str:
    layout = reading.layout
    names = {",": "comma", ";": "semicolon", "\t": "tab"}
    parts = [layout.encoding, f"separated by {names[layout.separator]}" if layout.separator in names else ""]
    parts.append("decimal comma" if reading.decimal == "," else "")
    return "".join(f", {part}" for part in parts if part)


def _row(reading: Column, n_rows: int) -> list[object]:
    from soel.tables.schema import describe_features, describe_kind, draw_bars, options_for

    seen = reading.seen
    missing = "" if not seen.n_missing else percent(seen.n_missing / n_rows)
    kind = describe_kind(reading) + ("" if reading.is_sure else " ?")
    ends = (_short(seen.low), _short(seen.high))
    picture = draw_bars(seen.bars)
    return [
        _short(reading.name),
        kind,
        describe_features(reading),
        picture,
        *ends,
        missing,
        seen.n_distinct,
        ", ".join(options_for(reading)),
    ]


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
