"""Addresses of event stores that this account has used: a session folder from elsewhere may name any server."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from soel.durable import write_whole
from soel.errors import ConfigError, StorageError


def remember(address: str) -> None:
    """Note an address, without its password, that was typed by a person."""
    known = _read()
    if address not in known:
        with suppress(StorageError):  # then it has to be typed each time
            write_whole(_file(), "".join(f"{each}\n" for each in [*known, address]).encode(), private=True)


def check_known(address: str, folder: Path) -> None:
    """Refuse an address that only a session's config names: a password could go to a stranger's server."""
    if address not in _read():
        raise ConfigError(
            f"The session in {folder} keeps its events at {address}, which this account has not used before. "
            f"Where you trust that server, open the session once with <<store={address}>>"
        )


def _read() -> list[str]:
    try:
        return _file().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _file() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "soel" / "servers.txt"
