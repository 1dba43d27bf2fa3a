"""How the columns of a table are read, before anything is computed: look."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Reply
from soel.cli.column_settings import add_columns, describe_settings, read_data_settings, write_template
from soel.text import percent

if TYPE_CHECKING:
    from soel.tables.column import Column
    from soel.tables.table_schema import Schema

WIDEST = 28  # letters of a name or an example
MOST_COLUMNS = 200  # more are not shown in full; --json has them all


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    look = verbs.add_parser(
        "look",
        parents=[common],
        help="show how the columns of a table are read",
        epilog=describe_settings(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    look.add_argument("data", metavar="DATA", help="a table")
    add_columns(look)
    look.add_argument("--write", metavar="FILE.toml", type=Path, help="write what was found as settings for --columns")
    look.set_defaults(handler=run_look)


def run_look(args: argparse.Namespace) -> Reply:
    """Show how a table is read."""
    from soel.tables.inspection import look_at
    from soel.tables.location import hide_password
    from soel.tables.table_schema import document_of

    settings = read_data_settings(args)
    named = settings.of_session
    reading = look_at(args.data, named.get("id_column"), named.get("label_column"), settings.columns)
    data = hide_password(args.data)
    document, text = {"data": data, **document_of(reading)}, show_reading(reading, data)
    if args.write is None:
        return Reply(document, text)
    write_template(reading, data, args.write)
    return Reply(document | {"out": str(args.write)}, f"{text} --columns {args.write}")


def show_reading(reading: Schema, data: str) -> str:
    """The readings as a table for a terminal, with what is odd and what is doubtful below."""
    from soel.tables.table_schema import warnings_of
    from soel.text import show

    size = f"{_count(reading.n_rows, 'row')}, {_count(len(reading.columns), 'column')}"
    head = f"{show(data)}: {size}{_file(reading)}."
    doubts = [f"  {show(warning)}" for warning in warnings_of(reading)]
    unsure = ["Not sure:", *doubts] if doubts else []
    named = "To change a reading: --columns SETTING=COLUMN, or a file of settings that --write FILE.toml begins."
    return "\n".join([head, *show_columns(reading), *unsure, named, f"Next: soel init DIR --data {show(data)}"])


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
        lines.append(f"{rows} an earlier one (kept; <<drop-duplicates=True>> leaves them out).")
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
    from soel.tables.table_schema import describe_features, describe_kind, draw_bars, options_for

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
