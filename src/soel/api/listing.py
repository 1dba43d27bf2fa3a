"""The sessions in a folder, and where each stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from soel.api.sessions import open_session
from soel.errors import SessionError, SoelError
from soel.session import Status

DEPTH = 2  # folders below the one that is named


@dataclass(frozen=True)
class SessionEntry:
    """One session. changed: when something happened in it last. error: why nothing can be said of it, else empty."""

    folder: Path
    status: Status | None
    changed: str = ""
    error: str = ""


def list_sessions(folder: str | Path = ".") -> tuple[SessionEntry, ...]:
    """The sessions in a folder and the two levels below, the one that changed last first; damaged ones are named."""
    folder = Path(folder)
    if not folder.is_dir():
        raise SessionError(f"{folder} is not a folder. Name one that holds sessions.")
    entries = [_entry(place) for place in _find(folder, DEPTH)]
    return tuple(sorted(entries, key=lambda entry: (entry.changed, entry.folder.name), reverse=True))


def _find(folder: Path, depth: int) -> Iterator[Path]:
    """Folders that look like a session's: a config beside an encoder. Nothing is looked for inside one."""
    if (folder / "config.json").is_file() and (folder / "encoder.json").is_file():
        yield folder
        return
    if depth:
        for child in sorted(folder.iterdir()):
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                try:
                    yield from _find(child, depth - 1)
                except PermissionError:
                    continue


def _entry(folder: Path) -> SessionEntry:
    try:
        with closing(open_session(folder)) as session:
            return SessionEntry(folder, session.status(), session.state.last_at or session.config.created)
    except SoelError as error:
        return SessionEntry(folder, None, error=str(error))
