"""Frozen dataclasses as plain JSON and back, by the types of their fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

BESIDE: Final[Mapping[str, Any]] = {"stored": False}  # marks a field that the event has beside its body
Record = TypeVar("Record")


def body_of(record: object) -> dict[str, Any]:
    """A dataclass as plain JSON, without the fields marked BESIDE; a number that is not finite becomes null."""
    stored = (each.name for each in fields(record) if each.metadata != BESIDE)  # type: ignore[arg-type]
    return {name: _plain(getattr(record, name)) for name in stored}


def read_body(record: type[Record], body: object, **beside: Any) -> Record:
    """The dataclass that a stored body describes; TypeError or ValueError where something is of another type.

    beside: the fields that are not in the body.
    """
    if not isinstance(body, Mapping):
        raise TypeError(f"a {record.__name__} cannot be {body!r}")
    readers = _readers(record)  # type: ignore[arg-type]
    if unknown := body.keys() - readers.keys():
        raise ValueError(f"{', '.join(map(repr, unknown))} is no part of a {record.__name__}")
    return record(**{name: readers[name](value) for name, value in body.items()}, **beside)


def path_inside(folder: str) -> None:
    """Refuse a path that a record names where it would lead out of its folder."""
    if folder.startswith("/") or ":" in folder or "\\" in folder or ".." in folder.split("/"):
        raise ValueError(f"{folder!r} lies outside of its folder")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return body_of(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | frozenset):
        return [_plain(each) for each in (sorted(value) if isinstance(value, frozenset) else value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@cache
def _readers(record: Any) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(record)
    return {each.name: _reader(hints[each.name]) for each in fields(record) if each.metadata != BESIDE}


def _reader(hint: Any) -> Callable[[Any], Any]:
    """What turns plain JSON into a value of this type; a class that reads itself has a class method `from_json`."""
    origin, inner = get_origin(hint), get_args(hint)
    if hasattr(hint, "from_json"):
        return hint.from_json  # type: ignore[no-any-return]
    if is_dataclass(hint):
        return partial(read_body, hint)  # type: ignore[arg-type]
    if origin is UnionType:
        read = _reader(inner[0])  # the other one is None
        return lambda value: None if value is None else read(value)
    if origin is tuple and inner[1:] != (...,):
        readers = tuple(map(_reader, inner))
        return lambda value: tuple(read(each) for read, each in zip(readers, value, strict=True))
    if origin in (tuple, frozenset):
        each_of = _reader(inner[0])
        return lambda value: origin(map(each_of, _check((list, tuple), value)))
    if origin is Mapping:
        of_value = _reader(inner[1])
        return lambda value: {name: of_value(each) for name, each in _check(dict, value).items()}
    if origin is Literal:
        return partial(_choose, inner)
    if hint is float:
        return lambda value: math.nan if value is None else float(_check((int, float), value))
    if hint is Path or (isinstance(hint, type) and issubclass(hint, Enum)):
        return hint
    return (lambda value: value) if hint is Any else partial(_check, hint)


def _choose(words: tuple[str, ...], value: Any) -> Any:
    if value not in words:
        raise ValueError(f"{value!r} is none of: {', '.join(words)}")
    return value


def _check(kind: type[Any] | tuple[type[Any], ...], value: Any) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{value!r} is of another type than expected")
    return value
