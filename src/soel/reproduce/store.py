"""Finished cells on disk: one file each, whole or not there, so a killed run loses nothing that was finished."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from soel.errors import DataError
from soel.reproduce.cells import Cell

Measures = Mapping[str, float | None]


class CellStore:
    """A folder of JSON files named after their cells. Several processes may write to it; stores merge by copying."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished."""
        return self._path(cell).exists()

    def read(self, cell: Cell) -> Measures:
        """The measures of a finished cell."""
        path = self._path(cell)
        try:
            measures: Measures = json.loads(path.read_text(encoding="utf-8"))["measures"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"The result {path} cannot be read: {error!r}. Remove it and run again.") from error
        return measures

    def write(self, cell: Cell, measures: Measures, seconds: float) -> None:
        """Keep a finished cell: the file appears under its name only when it is whole."""
        document = {"cell": cell.to_json(), "method": cell.method.name, "measures": measures, "seconds": seconds}
        text = json.dumps(document, indent=1, allow_nan=False)
        path = self._path(cell)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    def merge(self, others: Iterable[Path]) -> int:
        """Copy cells that were finished elsewhere; returns how many are new here."""
        n_new = 0
        for folder in others:
            if not folder.is_dir():
                raise DataError(f"{folder} is no folder of results. Name the --out folder of another run.")
            inside = folder / self.folder.name if (folder / self.folder.name).is_dir() else folder
            for path in sorted(inside.glob("*.json")):
                n_new += self._adopt(path)
        return n_new

    def _adopt(self, path: Path) -> bool:
        target = self.folder / path.name
        if target.exists():
            return False
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or "measures" not in document:
            return False
        part = target.with_name(target.name + ".part")
        shutil.copyfile(path, part)
        part.replace(target)
        return True

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"
