"""Exchangeable parts by name: one line per part, third parties by entry point; and packages that extras bring."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

from soel.errors import ConfigError, MissingPackageError


class Registry:
    """Maps a part's name to 'module:attribute', imported only when it is asked for.

    Other packages add parts under the entry-point group `soel.<role>`, or `soel.<group>` where that is given.
    """

    def __init__(self, role: str, parts: dict[str, str], group: str | None = None) -> None:
        self.role, self.group = role, f"soel.{group or role}"
        self._parts = parts

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._parts, *(point.name for point in self._plug_ins())]))

    def get(self, name: str) -> Any:
        if name in self._parts:
            module, _, attribute = self._parts[name].partition(":")
            return getattr(import_module(module), attribute)
        self.check(name)
        return next(point for point in self._plug_ins() if point.name == name).load()

    def check(self, name: str) -> None:
        """Refuse a name that no part has; none is imported for it."""
        if name not in self._parts and name not in list(self):  # other packages are asked last: that takes a while
            raise ConfigError(f"There is no {self.role} called {name!r}. Choose one of: {', '.join(self)}.")

    def create(self, name: str, **options: Any) -> Any:
        """The part called `name`, made with these options."""
        part = self.get(name)
        try:
            return part(**options)
        except TypeError as error:
            raise ConfigError(f"The {self.role} {name!r} does not take these options: {error}.") from error

    def _plug_ins(self) -> Any:
        return entry_points(group=self.group)


def is_installed(*packages: str) -> bool:
    """Whether all of these packages are there; none is imported for it."""
    try:
        return all(find_spec(package) is not None for package in packages)
    except ImportError:
        return False


def missing_package(purpose: str, package: str, extra: str) -> MissingPackageError:
    """The error where an optional package is needed and missing. purpose: the subject of 'need'."""
    return MissingPackageError(f"{purpose} need {package}, which is not installed: pip install 'soel[{extra}]'.")
