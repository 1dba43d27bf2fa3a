"""A process that appends and says each number once it is stored; `nursery` forks one per line read."""

from __future__ import annotations

import os
import signal
import sys

from soel.session.events import Event
from soel.session.store import SqlStore


def write(where: str, session: str, name: str, most: int) -> None:
    store = SqlStore(where, session=session)
    for turn in range(most):
        batch = [Event("label", name, f"{name} {turn} {part}", {"label": 1}) for part in "ab"]
        say(str(store.append(batch)[-1].number))


def nursery(where: str, session: str) -> None:
    """Fork instead of starting anew, because importing takes a hundred times as long as a kill."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    SqlStore(where, session=session).close()  # loads the driver once, before the first fork
    for line in sys.stdin:
        if os.fork() == 0:
            say(f"pid {os.getpid()}")
            write(where, session, line.strip(), 10**6)
            os._exit(0)


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # one write of a short line is never torn


if __name__ == "__main__":
    place, own, *words = sys.argv[1:]
    if words == ["nursery"]:
        nursery(place, own)
    else:
        write(place, own, words[0], int(words[1]))
