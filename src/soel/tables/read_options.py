"""What people say about columns: one record, from the command line, from Python or from a small file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from soel.errors import ConfigError
from soel.files import parse_json

DECIMALS = (".", ",")
DATE_ORDERS = ("dmy", "mdy", "ymd")


@dataclass(frozen=True)
class ReadOptions:
    """How columns are to be read where the automatic reading is not wanted. Tuples hold names of columns.

    ignore: left out. only: all others are left out. numeric, categorical, text, time: read as that kind. decimal: the
    decimal sign of numbers in text. drop_duplicates: rows that repeat an earlier one are left out of a pool.
    strict: new rows with columns that the pool does not have are refused; else these columns are left out.
    encoding: of a text file, such as 'utf-8' or 'windows-1252'. sheet: of an Excel file. query: what to select from a
    database, or the name of a table in it. max_unpacked: how many bytes a packed file may have when it is unpacked.
    """

    ignore: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    decimal: str | None = None
    dates: str | None = None
    drop_duplicates: bool = False
    strict: bool = False
    encoding: str | None = None
    sheet: str | None = None
    query: str | None = None
    max_unpacked: int = 4 << 30

    def __post_init__(self) -> None:
        if self.decimal not in (None, *DECIMALS):
            raise ConfigError(f"The decimal sign is '.' or ',', got {self.decimal!r}.")
        if self.dates not in (None, *DATE_ORDERS):
            raise ConfigError(f"The order of a date is one of {', '.join(DATE_ORDERS)}, got {self.dates!r}.")
        if self.max_unpacked < 1:
            raise ConfigError(f"max_unpacked is a number of bytes above 0, got {self.max_unpacked}.")
        chosen = [name for kind in KIND_OPTIONS for name in getattr(self, kind)]
        twice = sorted({name for name in chosen if chosen.count(name) > 1})
        if twice:
            raise ConfigError(f"Two kinds are asked for in column {', '.join(map(repr, twice))}. Choose one.")

    def kind_for(self, name: str) -> str | None:
        """The option that names this column, if there is one."""
        return next((kind for kind in KIND_OPTIONS if name in getattr(self, kind)), None)

    def leaves_out(self, name: str) -> bool:
        return name in self.ignore or bool(self.only and name not in self.only)

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that are spoken of."""
        lists = (self.ignore, self.only, *(getattr(self, kind) for kind in KIND_OPTIONS))
        return tuple(dict.fromkeys(name for names in lists for name in names))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ReadOptions:
        """From plain values; a single name stands for a list of one."""
        known = {each.name for each in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ConfigError(
                f"{', '.join(unknown)} is no setting for columns. Choose among: {', '.join(sorted(known))}."
            )
        lists = {"ignore", "only", *KIND_OPTIONS}
        read: dict[str, Any] = {key: _names(key, value) if key in lists else value for key, value in values.items()}
        try:
            return cls(**read)
        except TypeError as error:
            raise ConfigError(f"The settings for columns cannot be read: {error}.") from error


KIND_OPTIONS = ("numeric", "categorical", "text", "time")
DEFAULT = ReadOptions()
UPLOADED = ReadOptions(max_unpacked=1 << 26)  # of files of labels, which people send to the page


def read_settings(path: str | Path) -> dict[str, Any]:
    """The settings in a small file, TOML or JSON by its suffix."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        values = parse_json(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}. Check the path.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path.name} is neither TOML nor JSON ({error}). Write a line such as: ignore = ['a']."
        ) from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path.name} holds no settings. Write a line such as: ignore = ['a'].")
    return values


def as_options(given: ReadOptions | Mapping[str, Any] | None) -> ReadOptions:
    """Options from whatever a caller gives."""
    if given is None:
        return DEFAULT
    return given if isinstance(given, ReadOptions) else ReadOptions.from_dict(given)


def _names(key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    try:
        names = tuple(value)
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{key} takes names of columns, got {value!r}.")
    return names
