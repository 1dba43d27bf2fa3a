"""What thinning costs: how far the farthest row lies from a query, over the pool and over all the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.numeric import ahead, nearest
from soel.session import Session
from soel.session.pool import open_all
from soel.session.rounds import rows_of
from soel.tables.encoder import Encoder
from soel.types import Floats, Progress


@dataclass(frozen=True)
class CoverRadius:
    """The largest distance from a row to the nearest of the `n_queries` rows asked about or labelled, by the model that
    drew them. pool: over the pool. whole: over all `n_rows` rows.
    """

    n_queries: int
    pool: float
    whole: float
    n_rows: int


def measure_cover(session: Session, encoder: Encoder, progress: Progress | None = None) -> CoverRadius | None:
    """The cover of the last round of a thinned session, in one pass over all rows.

    None where there is nothing to compare, and where the space is a network's: a pass would take as long as scoring.
    """
    place = session.folder
    drawn = session.state.round
    if drawn is None or place.n_rows is None or place.n_rows == place.n_items:
        return None
    space = find_space(session.load_model(drawn.model))
    if space is None:
        return None
    queried = {draw.item for draw in drawn.draws[: len(drawn.asked)]} | set(session.state.labels)
    rows = list(rows_of(place.ids, queried).values())
    points = space(np.asarray(place.pool[rows]))
    pool = max(_farthest(space(block), points) for block in _blocks(place.pool))
    stream, whole, n_done = open_all(place, encoder), 0.0, 0
    blocks = (block.frame for part in stream.parts for block in stream.blocks(part))
    for x in ahead(map(encoder.encode, blocks)):
        whole, n_done = max(whole, _farthest(space(x), points)), n_done + len(x)
        if progress is not None:
            progress(n_done, stream.n_rows)
    return CoverRadius(len(rows), pool, whole, stream.n_rows)


def find_space(model: Any) -> Callable[[Floats], Floats] | None:
    """What turns encoded rows into the points between which the detector measures; None without one."""
    detector = model.detector
    return None if detector is None else detector.space


def _blocks(pool: Floats, size: int = 32_768) -> Iterator[Floats]:
    for start in range(0, len(pool), size):
        yield np.asarray(pool[start : start + size])


def _farthest(x: Floats, points: Floats) -> float:
    """The largest distance from a row (n, d) to the nearest point (k, d)."""
    return float(nearest(x.astype(np.float64), points.astype(np.float64)).max())
