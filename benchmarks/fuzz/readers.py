"""Every reader, by the name of the file it reads; what a reader needs is imported only where it is attacked."""

from __future__ import annotations

from importlib import import_module

from benchmarks.fuzz.target import Build

MODULES = ("tables", "media", "folders", "http")


def find_reader(name: str) -> Build:
    """What builds the target of this name."""
    for module in MODULES:
        readers: dict[str, Build] = import_module(f"benchmarks.fuzz.{module}").READERS
        if name in readers:
            return readers[name]
    raise LookupError(f"There is no reader called {name!r}.")


def reader_names() -> tuple[str, ...]:
    """All names."""
    return tuple(name for module in MODULES for name in import_module(f"benchmarks.fuzz.{module}").READERS)
