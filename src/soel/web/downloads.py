"""Files to take away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from starlette.responses import Response

from soel.data.csv_cells import write_rows

CSV = "text/csv"


def as_download(name: str, media_type: str, content: bytes) -> Response:
    """Bytes as a file that the browser stores."""
    return Response(content, media_type=media_type, headers={"content-disposition": f'attachment; filename="{name}"'})


def csv_file(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """A table as a CSV file that a spreadsheet opens without running anything."""
    return as_download(name, CSV, written(".csv", lambda path: write_rows(path, header, rows)))


def written(suffix: str, write: Callable[[Path], object]) -> bytes:
    """What a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        write(path)
        return path.read_bytes()
