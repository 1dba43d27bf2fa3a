"""Drawing a pool from a stream on the machines of a cluster: each reads some parts and writes what was drawn there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.errors import SessionError
from soel.files import mark, remove_marked, replacing
from soel.scoring.ray.cluster import Cluster, check_installed
from soel.scoring.ray.clusters import ClusterOptions
from soel.scoring.ray.parts import Done, map_parts
from soel.session.sampling import Write
from soel.tables.batches import Part
from soel.tables.sampling import draw_from_part, join_sample
from soel.tables.streams import Stream
from soel.types import Progress, Rows


def sampling_on(options: ClusterOptions, folder: Path) -> Write:
    """What draws the pool of a new session in `folder` on a cluster. A killed command goes on where it was."""

    def write(stream: Stream, rows: Rows, path: Path, progress: Progress | None) -> str:
        check_installed()
        place = (folder.parent / f".{folder.name}-drawing-{_name_of(stream, rows)}").resolve()
        if not place.exists():
            place.mkdir(parents=True)
            mark(place)
        work = DrawPart(stream, rows, place)
        missing = [part.number for part in stream.parts if work.is_missing(part)]
        n_there = stream.n_rows - sum(stream.parts[number].n_rows for number in missing)
        on_rows = None if progress is None else lambda done: progress(n_there + done, stream.n_rows)
        map_parts(Cluster(options.address, options.n_workers), work, missing, on_rows)
        id_column = join_sample(stream, work.pieces(), path)
        remove_marked(place)
        return id_column

    return write


@dataclass(frozen=True)
class DrawPart:
    """Reads one part and writes those of its rows that were drawn. It is sent to the workers.

    place: a folder that all machines reach.
    """

    stream: Stream
    rows: Rows
    place: Path

    def __call__(self, number: int) -> Done:
        """Draw from the part of this number."""
        part = self.stream.parts[number]
        drawn = draw_from_part(self.stream, part, self.rows)
        try:
            with replacing(self._file(part)) as file:
                if drawn is not None:
                    import_module("pyarrow.parquet").write_table(drawn, file)
        except OSError as error:
            raise SessionError(
                f"What was drawn from {part.file} cannot be written to {self.place}: {error.strerror or error}. "
                "Make room, then run the same command again."
            ) from error
        return Done(part.n_rows)

    def is_missing(self, part: Part) -> bool:
        """Whether the part was not read yet."""
        return not self._file(part).exists()

    def pieces(self) -> Iterator[Any]:
        """What was drawn, part by part; None where nothing was."""
        for part in self.stream.parts:
            file = self._file(part)
            yield import_module("pyarrow.parquet").read_table(file) if file.stat().st_size else None

    def _file(self, part: Part) -> Path:
        return self.place / f"part-{part.number:06d}.parquet"


def _name_of(stream: Stream, rows: Rows) -> str:
    """Another one for other data or other rows, so that their parts are never mixed."""
    return hashlib.sha256(stream.fingerprint.encode() + rows.tobytes()).hexdigest()[:12]
