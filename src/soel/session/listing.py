"""Which folders hold sessions, and what a list says of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from soel.errors import SessionError, SoelError
from soel.session import SessionFolder
from soel.session.create import open_session
from soel.session.standing import Status


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


DEPTH = 2  # folders below the one that is named


def list_sessions(folder: str | Path = ".") -> tuple[SessionEntry, ...]:
    """The sessions in a folder and the two levels below, the one that changed last first; damaged ones are named."""
    folder = Path(folder)
    if not folder.is_dir():
        raise SessionError(f"{folder} is not a folder. Name one that holds sessions.")
    entries = [_read_entry(place) for place in find_sessions(folder, DEPTH)]
    return tuple(sorted(entries, key=lambda entry: (entry.changed, entry.folder.name), reverse=True))


def _read_entry(folder: Path) -> SessionEntry:
    """What a list says of a session; no server is asked for it."""
    try:
        config = SessionFolder(folder).config
        if config.store is not None:
            return SessionEntry(folder, None, config.created, f"Its events are on a server: soel status {folder}")
        with closing(open_session(folder)) as session:
            return SessionEntry(folder, session.status(), session.state.last_at or session.config.created)
    except SoelError as error:
        return SessionEntry(folder, None, error=str(error))
