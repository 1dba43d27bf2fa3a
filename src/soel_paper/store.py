"""Finished cells on disk: one file each, whole or not there, so a killed run loses nothing that was finished."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from soel import DataError
from soel.files import copy_whole, write_whole
from soel_paper.cells import Cell
from soel_paper.versions import versions_of

Measures = Mapping[str, float | None]


class CellStore:
    """A folder of JSON files named after their cells. Several processes may write to it; stores merge by copying."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished, by whatever code."""
        return self._path(cell).exists()

    def is_old(self, cell: Cell) -> bool:
        """Whether the cell was finished by other versions of its parts."""
        return self.has(cell) and self._document(self._path(cell)).get("versions") != versions_of(cell)

    def read(self, cell: Cell) -> Measures:
        """The measures of a finished cell."""
        path = self._path(cell)
        measures = self._document(path).get("measures")
        if not isinstance(measures, dict):
            raise _unreadable(path, "it holds no measures")
        return measures

    def write(self, cell: Cell, measures: Measures, seconds: float) -> None:
        """Keep a finished cell: the file appears under its name only when it is whole.

        seconds: of processor time.
        """
        document = {
            "cell": cell.to_json(),
            "method": cell.method.name,
            "measures": measures,
            "seconds": seconds,
            "versions": versions_of(cell),
            "machine": machine(),
            "finished": time.time(),
        }
        write_whole(self._path(cell), json.dumps(document, indent=1, allow_nan=False).encode())

    def merge(self, others: Iterable[Path]) -> int:
        """Copy cells that were finished elsewhere; returns how many are new here.

        Where both have a cell, ours stays; unless their versions differ and theirs was finished later.
        """
        n_new = 0
        for folder in others:
            if not folder.is_dir():
                raise DataError(f"{folder} is no folder of results. Name the --out folder of another run.")
            inside = folder / self.folder.name if (folder / self.folder.name).is_dir() else folder
            for path in sorted(inside.glob("*.json")):
                n_new += self._adopt(path)
        return n_new

    def _adopt(self, path: Path) -> bool:
        target, theirs = self.folder / path.name, self._document(path)
        if "measures" not in theirs:
            return False
        if target.exists():
            ours = self._document(target)
            same = ours.get("versions") == theirs.get("versions")
            if same or theirs.get("finished", 0) <= ours.get("finished", 0):
                return False
        copy_whole(path, target)
        return True

    def _document(self, path: Path) -> dict[str, Any]:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _unreadable(path, repr(error)) from error
        return document if isinstance(document, dict) else {}

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"


@lru_cache(maxsize=1)
def machine() -> str:
    """Where a cell was computed, in words: rounding differs between machines and libraries."""
    return f"{platform.machine()}, Python {platform.python_version()}, torch {version('torch')}"


def _unreadable(path: Path, why: str) -> DataError:
    return DataError(f"The result {path} cannot be read: {why}. Remove it and run again.")
