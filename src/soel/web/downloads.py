"""Files to take away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from starlette.responses import Response

Form = Literal["csv", "json", "xlsx"]
TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def as_download(name: str, content: bytes) -> Response:
    """Bytes as a file that the browser stores; its suffix says what it is."""
    media_type = TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=media_type, headers={"content-disposition": f'attachment; filename="{name}"'})


def write_to_bytes(suffix: str, write: Callable[[Path], object]) -> bytes:
    """What a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        write(path)
        return path.read_bytes()
