"""Which folders hold sessions, and what a list says of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from soel.session.results import Status


@dataclass(frozen=True)
class SessionEntry:
    """One session. status: None where `error` says why nothing can be said of it. changed: when something happened
    in it last. address: of its page, where it is served.
    """

    folder: Path
    status: Status | None
    changed: str = ""
    error: str = ""
    address: str = ""


def find_sessions(folder: Path, depth: int) -> Iterator[Path]:
    """Folders that look like a session's: a config beside an encoder. Nothing is looked for inside one."""
    if (folder / "config.json").is_file() and (folder / "encoder.json").is_file():
        yield folder
        return
    if depth:
        for child in sorted(folder.iterdir()):
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                try:
                    yield from find_sessions(child, depth - 1)
                except PermissionError:
                    continue
