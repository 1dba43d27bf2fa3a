"""What a verb answers: one document for machines, a few lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    """document: plain JSON values. text: short, ending with the command to type next. code: how the command ends."""

    document: Mapping[str, Any]
    text: str
    code: int = 0
