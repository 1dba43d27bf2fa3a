"""What thinning costs: how far the farthest row lies from a query, over the pool and over all the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.distances import nearest
from soel.scoring.ray.parts import Done
from soel.session import Session
from soel.session.draw import rows_of
from soel.session.sampling import open_whole
from soel.tables.batches import ahead
from soel.tables.encoder import Encoder
from soel.tables.streams import Stream
from soel.types import Floats, Progress


@dataclass(frozen=True)
class Cover:
    """The largest distance from a row to the nearest of the `n_queries` rows asked about or labelled, by the model that
    drew them. pool: over the pool. whole: over all `n_rows` rows.
    """

    n_queries: int
    pool: float
    whole: float
    n_rows: int


def measure_cover(session: Session, encoder: Encoder, progress: Progress | None = None) -> Cover | None:
    """The cover of the last round of a thinned session, in one pass over all rows.

    None where there is nothing to compare, and where the space is a network's: a pass would take as long as scoring.
    """
    place = session.folder
    drawn = session.state.round
    if drawn is None or place.n_rows is None or place.n_rows == place.n_items:
        return None
    space = find_space(session.engine.load(place.path / drawn.model.folder))
    if space is None:
        return None
    queried = {draw.item for draw in drawn.draws[: len(drawn.asked)]} | set(session.state.labels)
    rows = list(rows_of(place.ids, queried).values())
    points = space(np.asarray(place.pool[rows]))
    pool = max(_farthest(space(block), points) for block in _blocks(place.pool))
    stream = open_whole(place, encoder)
    on_rows = None if progress is None else lambda done: progress(done, stream.n_rows)
    numbers = [part.number for part in stream.parts]
    far = _map(getattr(session.engine, "cluster", None), FarthestIn(stream, encoder, space, points), numbers, on_rows)
    return Cover(len(rows), pool, max(far), stream.n_rows)


@dataclass(frozen=True)
class FarthestIn:
    """The largest distance from a row of a part to the nearest point. It can be sent to other machines."""

    stream: Stream
    encoder: Encoder
    space: Callable[[Floats], Floats]
    points: Floats

    def __call__(self, number: int) -> Done:
        """Look at the part of this number."""
        part = self.stream.parts[number]
        blocks = (self.encoder.encode(block.frame) for block in self.stream.blocks(part))
        return Done(part.n_rows, max(_farthest(self.space(x), self.points) for x in ahead(blocks)))


def _map(cluster: Any, work: FarthestIn, numbers: list[int], on_rows: Callable[[int], None] | None) -> list[float]:
    """The values of all parts: from a cluster where there is one."""
    if cluster is not None:
        return cluster.map_parts(work, numbers, on_rows)  # type: ignore[no-any-return]
    found, n_rows = [], 0
    for done in map(work, numbers):
        found.append(done.value)
        n_rows += done.amount
        if on_rows is not None:
            on_rows(n_rows)
    return found


def find_space(model: Any) -> Callable[[Floats], Floats] | None:
    """What turns encoded rows into the points between which the detector measures; None without one."""
    detector = model.blend.detector
    return None if detector is None else detector.space


def _blocks(pool: Floats, size: int = 32_768) -> Iterator[Floats]:
    for start in range(0, len(pool), size):
        yield np.asarray(pool[start : start + size])


def _farthest(x: Floats, points: Floats) -> float:
    """The largest distance from a row (n, d) to the nearest point (k, d)."""
    return float(nearest(x.astype(np.float64), points.astype(np.float64)).max())
