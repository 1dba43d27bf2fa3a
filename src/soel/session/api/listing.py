"""The sessions in a folder, and where each stands."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from soel.errors import SessionError, SoelError
from soel.session import SessionFolder
from soel.session.api.sessions import open_session
from soel.session.listing import SessionEntry, find_sessions

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
