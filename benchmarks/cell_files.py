"""Cells of a measurement as lines of JSON: each is written as soon as it is measured, and a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from soel.files import write_whole

C = TypeVar("C")


def read_cells(path: Path, make: Callable[..., C]) -> list[C]:
    """The cells that are finished; a line that a kill left in half is passed over."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [make(**json.loads(line)) for line in lines if line.endswith("}")]


def write_cells(path: Path, cells: Sequence[Any]) -> None:
    """Write finished cells anew, without what a kill left in half."""
    write_whole(path, "".join(map(as_line, cells)).encode())


def as_line(cell: Any) -> str:
    """A cell, a frozen dataclass, as its line."""
    return json.dumps(asdict(cell)) + "\n"
