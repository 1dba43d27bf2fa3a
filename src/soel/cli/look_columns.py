"""How the columns of a table are read: look; the settings of it in a file or as NAME=VALUE, and asked at a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Reply
from soel.errors import ConfigError
from soel.tables.read_options import DATE_ORDERS, DECIMALS, ReadOptions, read_settings
from soel.text import count, format_table, name_options, percent, show

if TYPE_CHECKING:
    from soel.images.picture_pool import MediaOptions
    from soel.report.progress import Bar
    from soel.tables.column import Column
    from soel.tables.schema import Schema


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
    from soel.tables.address import hide_password
    from soel.tables.look import look_at
    from soel.tables.schema import document_of

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
    from soel.tables.schema import warnings_of

    size = f"{count(reading.n_rows, 'row')}, {count(len(reading.columns), 'column')}"
    head = f"{show(data)}: {size}{_file(reading)}."
    doubts = [f"  {show(warning)}" for warning in warnings_of(reading)]
    unsure = ["Not sure:", *doubts] if doubts else []
    named = "To change a reading: --columns SETTING=COLUMN, or a file of settings that --write FILE.toml begins."
    return "\n".join([head, *show_columns(reading), *unsure, named, f"Next: soel init DIR --data {show(data)}"])


def show_columns(reading: Schema) -> list[str]:
    """How each column is read, as a table, and what is odd about it."""
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
        rows = count(reading.n_duplicates, "repeated row")
        lines.append(f"{rows} (kept; <<drop-duplicates=True>> leaves them out).")
    return lines


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


@dataclass(frozen=True)
class ColumnSetting:
    """One setting of the file. form: what its value is. about: tables or pictures. read: the value from text."""

    form: str
    help: str
    about: str = "table"
    read: Callable[[str], Any] = str


def _yes(text: str) -> bool:
    if text.lower() not in ("yes", "true", "no", "false"):
        raise ValueError
    return text.lower() in ("yes", "true")


SETTINGS: Mapping[str, ColumnSetting] = {
    "id_column": ColumnSetting("COLUMN", "the column that names each item"),
    "label_column": ColumnSetting("COLUMN", "a column of known labels, kept out of the features"),
    "ignore": ColumnSetting("COLUMN", "leave these columns out"),
    "only": ColumnSetting("COLUMN", "leave all other columns out"),
    "numeric": ColumnSetting("COLUMN", "read these columns as numbers"),
    "categorical": ColumnSetting("COLUMN", "read these columns as categories"),
    "text": ColumnSetting("COLUMN", "read these columns as free text"),
    "time": ColumnSetting("COLUMN", "read these columns as times"),
    "decimal": ColumnSetting("SIGN", "the decimal sign of numbers: . or ,"),
    "dates": ColumnSetting("ORDER", "the order of day, month and year: dmy, mdy or ymd"),
    "drop_duplicates": ColumnSetting("yes", "leave out rows that repeat an earlier one", read=_yes),
    "encoding": ColumnSetting("NAME", "of a text file, such as utf-8 (default: found out)"),
    "sheet": ColumnSetting("NAME", "of an Excel file"),
    "query": ColumnSetting("SQL", "what to select from a database, or the name of a table in it"),
    "max_unpacked": ColumnSetting("BYTES", "limit of packed files (default: 4 GiB)", read=int),
    "strict": ColumnSetting("yes", "refuse columns that the pool lacks, and files that cannot be read", read=_yes),
    "kind": ColumnSetting("KIND", "what rows are: table, vectors (features of a network), or auto"),
    "patches": ColumnSetting("yes|no", "look at places beside the whole picture (default: auto)", "pictures"),
    "resolution": ColumnSetting("PIXELS", "look at places with the shorter side this long", "pictures", int),
    "region": ColumnSetting("MASK|X,Y,W,H", "judge only what a mask shows in white, or this box", "pictures"),
    "path_column": ColumnSetting("COLUMN", "the column of a table that names picture files", "pictures"),
    "every": ColumnSetting("N", "keep every N-th frame of a clip (default: 1)", "pictures", int),
    "frame_rate": ColumnSetting("N", "pictures of a folder are frames, N a second", "pictures", float),
    "normal": ColumnSetting("NAME", "the folder or class that is normal, for experiments", "pictures"),
    "truth": ColumnSetting("FILE", "known labels, CSV or JSON, for experiments", "pictures"),
}
LISTS = ("ignore", "only", "numeric", "categorical", "text", "time")
FLAGS = ("id_column", "label_column", "ignore")  # these have options of their own
READ = tuple(name for name in SETTINGS if name in ReadOptions.__dataclass_fields__)
ANSWERS = {"n": "numeric", "c": "categorical", "t": "text", "i": "ignore"}
COLUMNS_HELP = "how data are read: a TOML or JSON file of settings (`soel look DATA --write FILE`), or NAME=VALUE"


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add what says how data are read."""
    group = parser.add_argument_group("how data are read")
    group.add_argument("--id-column", metavar="COLUMN", help="the column that names each item")
    group.add_argument("--label-column", metavar="COLUMN", help="a column of known labels, kept out of the features")
    group.add_argument("--ignore", metavar="COLUMN", nargs="+", action="extend", default=[], help="leave these out")
    group.add_argument(
        "--columns", metavar="FILE | NAME=VALUE", nargs="+", action="extend", default=[], help=COLUMNS_HELP
    )


def describe_settings() -> str:
    """All settings with their values, for the help of a verb."""
    lines = []
    for about, title in (("table", "of tables"), ("pictures", "of pictures and video")):
        lines.append(f"settings for --columns {title}:")
        named = {name: each for name, each in SETTINGS.items() if each.about == about}
        lines += [f"    {f'{name}={each.form}':<24}{each.help}" for name, each in named.items()]
    return "\n".join(lines)


def as_flag(name: str, value: str) -> str:
    """An option of a message as it is written on the command line: a flag, or a setting for --columns."""
    setting = SETTINGS.get(name.replace("-", "_"))
    if setting is None or name.replace("-", "_") in FLAGS:
        return f"--{name}" if value in ("", "True") else f"--{name} {value}"
    return f"--columns {name.replace('-', '_')}={'yes' if value == 'True' else value or setting.form}"


@dataclass(frozen=True)
class DataSettings:
    """What was said about how data are read: of columns, and by name all the rest.

    of_session: id_column, label_column and kind, as `SessionOptions` has them, where they were said.
    """

    columns: ReadOptions
    others: Mapping[str, Any]

    @property
    def of_session(self) -> dict[str, Any]:
        return {name: self.others[name] for name in ("id_column", "label_column", "kind") if name in self.others}

    def media(self, extractor: str, bar: Bar | None) -> MediaOptions:
        from soel.images.picture_pool import MediaOptions
        from soel.images.source import Reading

        given = self.others
        limit = self.columns.max_unpacked
        reading = Reading(given.get("every", 1), given.get("frame_rate"), self.columns.strict, limit)
        truth = given.get("truth")
        return MediaOptions(
            extractor,
            reading,
            given.get("path_column"),
            given.get("normal"),
            None if truth is None else Path(truth),
            bar,
            patches=given.get("patches", "auto"),
            resolution=given.get("resolution"),
            region=given.get("region"),
        )


def read_data_settings(args: argparse.Namespace) -> DataSettings:
    """All of it as one value; what is said on the command line wins over a file."""
    from_files: dict[str, Any] = {}
    named = {"id_column": args.id_column, "label_column": args.label_column, "ignore": list(args.ignore)}
    given: dict[str, Any] = {name: value for name, value in named.items() if value}
    for word in args.columns:
        name, sign, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or name not in SETTINGS:
            from_files |= _read_file(word)
        elif name in LISTS:
            given[name] = [*given.get(name, []), text]
        else:
            given[name] = _value(name, text)
    values = from_files | given
    columns = ReadOptions.from_dict({name: value for name, value in values.items() if name in READ})
    return DataSettings(columns, {name: value for name, value in values.items() if name not in READ})


def _read_file(word: str) -> dict[str, Any]:
    if "=" in word and not Path(word).exists():
        name = word.partition("=")[0]
        raise ConfigError(f"There is no setting called {name!r}. Choose one of: {', '.join(SETTINGS)}.")
    values = {name.replace("-", "_"): value for name, value in read_settings(word).items()}
    unknown = sorted(set(values) - set(SETTINGS))
    if unknown:
        raise ConfigError(f"{word} holds {', '.join(unknown)}, no setting. Choose among: {', '.join(SETTINGS)}.")
    return {name: _value(name, value) for name, value in values.items()}


def _value(name: str, given: Any) -> Any:
    """The value of a setting as it is meant; numbers and truths of a file are taken as they are."""
    if not isinstance(given, str) or name in LISTS:
        return given
    try:
        value = SETTINGS[name].read(given)
    except ValueError:
        raise ConfigError(f"{name} cannot be {given!r}; write {name}={SETTINGS[name].form}.") from None
    if name == "patches" and value not in ("auto", "yes", "no"):
        raise ConfigError(f"patches cannot be {given!r}; write patches=yes, patches=no or patches=auto.")
    return value


def write_template(reading: Schema, data: str, out: Path) -> None:
    """Write a file of settings with what was found: each line is a comment until its # is removed."""
    if out.suffix.lower() != ".toml":
        raise ConfigError(f"The settings are written as TOML, got {out.name!r}; choose a name that ends with .toml.")
    if out.exists():
        raise ConfigError(f"{out} exists already; choose another name, or move it away.")
    found: dict[str, list[str]] = {name: [] for name in LISTS}
    for column in reading.columns:
        kind = {"number": "numeric", "category": "categorical", "flag": "categorical"}.get(column.kind, column.kind)
        if kind in found:
            found[kind].append(column.name)
    lines = [f"# How the columns of {show(data)} are read. To change it, remove the # before a line and edit it; then:"]
    lines += [f"#     soel init DIR --data {show(data)} --columns {out}", ""]
    for name, setting in SETTINGS.items():
        if setting.about == "table":
            value = json.dumps(found[name], ensure_ascii=False) if name in LISTS else _example(reading, name, setting)
            lines += [f"# {setting.help}", f"# {name} = {value}", ""]
    out.write_text("\n".join(lines), encoding="utf-8")


def _example(reading: Schema, name: str, setting: ColumnSetting) -> str:
    """What a setting of the whole file is now, as TOML; an example where nothing was found."""
    found = {
        "decimal": reading.decimal or ".",
        "dates": "dmy",
        "drop_duplicates": reading.drop_duplicates,
        "encoding": reading.layout.encoding or "utf-8",
        "max_unpacked": ReadOptions.max_unpacked,
        "kind": "table",
        "id_column": "id",
        "label_column": "label",
    }
    return json.dumps(found.get(name, setting.form), ensure_ascii=False)


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

    shown = ", ".join(map(show, column.seen.examples))
    doubt = show(name_options(column.doubt, as_flag))
    print(f"Column {show(column.name)!r} ({shown}) is read as {describe_kind(column)}: {doubt}.")
    choices = dict(ANSWERS)
    if "<<decimal" in column.doubt:
        choices |= dict.fromkeys(DECIMALS, "decimal")
    if "<<dates" in column.doubt:
        choices |= dict.fromkeys(DATE_ORDERS, "dates")
    words = ", ".join(f"{key} {what}" for key, what in choices.items())
    while True:
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


def describe_ignored(folder: Path, names: Sequence[str]) -> str:
    """That options of a new session were given for one that is there already."""
    given = ", ".join(f"--{name.replace('_', '-')}" for name in names)
    return f"{folder.name} is there already and goes on as it began; {given} would count for a new session only."


GOAL_HELP = "what questions are for: the best detector, or as many anomalies as possible (default: learn)"
EXTRACTOR = "efficientnet-lite2"


def add_session_options(verb: argparse.ArgumentParser) -> None:
    """Add what a person chooses once, when a session starts. What is not given takes the usual value."""
    new = verb.add_argument_group("new sessions")
    new.add_argument("--profile", metavar="NAME", help="how the detector learns: default, paper or authors")
    new.add_argument("--goal", choices=("learn", "find"), help=GOAL_HELP)
    new.add_argument("--budget", type=int, metavar="N", help="labels the expert can give (default: 20)")
    new.add_argument("--threshold", metavar="RULE", help="where alarms start (default: contamination)")
    new.add_argument("--contamination", type=float, metavar="SHARE", help="the share of anomalies, if it is known")
    new.add_argument("--labels-by", metavar="NAME", help="store the labels of --label-column as answers of NAME")
    new.add_argument("--extractor", default=EXTRACTOR, metavar="NAME|FILE.onnx", help="the network for pictures")
    add_columns(verb)


def given_options(args: argparse.Namespace, settings: DataSettings) -> dict[str, Any]:
    """The options of a new session that were given, by name."""
    from soel.session import SessionOptions

    given = {field.name: getattr(args, field.name, None) for field in fields(SessionOptions)}
    return {name: value for name, value in given.items() if value is not None} | settings.of_session
