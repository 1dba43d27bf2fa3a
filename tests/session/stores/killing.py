"""Kills writers in the middle of their work and compares what they had heard with what is stored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import soel
from soel.session import Event
from soel.session.store import SqlStore

WRITER = Path(__file__).with_name("writer.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(soel.__file__).parents[1])}


@dataclass(frozen=True)
class Outcome:
    """acknowledged: the numbers that writers were told. events: all that is stored afterwards."""

    acknowledged: list[int]
    events: list[Event]

    @property
    def lost(self) -> set[int]:
        return set(self.acknowledged) - {event.number for event in self.events}


def start(where: str | Path, session: str, *words: str, stdin: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(where), session, *words]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def kill_writers(where: str | Path, session: str, n_kills: int) -> Outcome:
    """Start and kill this many writers at a store."""
    said = kill_each(start(where, session, "nursery", stdin=subprocess.PIPE), n_kills)
    store = SqlStore(where, must_exist=True, session=session)
    events = list(store.read())
    store.close()
    return Outcome([int(line) for line in said], events)


def kill_each(nursery: subprocess.Popen[str], n_kills: int, patience: float = 0.03) -> list[str]:
    """Have this many writers born and killed, each a little later than the one before, up to `patience` seconds.

    A nursery forks a writer per line it reads. A writer says its process id, then a line per thing it stored.
    Returns all those lines.
    """
    said: list[str] = []
    for turn in range(n_kills):
        said += _kill_one(nursery, f"writer {turn}", patience * (turn % 30) / 30)
    rest, _ = nursery.communicate(timeout=120)
    return said + rest.splitlines()


def _kill_one(nursery: subprocess.Popen[str], name: str, patience: float) -> list[str]:
    """Have a writer born, wait until it has stored something, kill it; returns the lines heard."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(f"{name}\n")
    nursery.stdin.flush()
    heard: list[str] = []
    while not (line := nursery.stdout.readline()).startswith("pid"):
        assert line, "the nursery died"
        heard.append(line.strip())  # what the one before had said when it was killed
    heard.append(nursery.stdout.readline().strip())
    time.sleep(patience)
    os.kill(int(line.split()[1]), signal.SIGKILL)
    return heard
