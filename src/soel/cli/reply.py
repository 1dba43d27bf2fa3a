"""What a verb answers: one document for machines, a few lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """How a command ends, for whoever called it."""

    DONE = 0
    BUG = 1
    REFUSED = 2  # with a message
    DAMAGED = 3  # `check`: a file or an event is not what it was
    DRIFTED = 5  # `score --fail-on-drift`: the scores are written, but the rows are not like the pool
    INCOMPLETE = 6  # `score`: some pictures cannot be read; the scores of all others are written
    EMPTY = 7  # `score --data`: a header without rows; nothing is written
    INTERRUPTED = 130


@dataclass(frozen=True)
class Reply:
    """document: plain JSON values. text: short, ending with the command to type next. code: how the command ends."""

    document: Mapping[str, Any]
    text: str
    code: Exit = Exit.DONE
