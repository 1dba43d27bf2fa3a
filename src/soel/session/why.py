"""Why an item was asked about, in numbers: from the pool as its round saw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soel.ask.space import Space
from soel.session.rounds import PoolRecord, Round
from soel.session.state import SessionState
from soel.types import Floats


@dataclass(frozen=True)
class Why:
    """What speaks for asking about an item. Shares are of the whole pool.

    score_share: items that look less unusual. nearest: the closest labelled item, None before any label.
    distance: to it, and distance_share: the share of items that lie closer to a label. n_near: items that are
    closer to this one than to anything labelled or asked, itself included; near_share: their share.
    """

    item: str
    round: int
    score: float
    score_share: float
    odds: float
    nearest: str | None
    distance: float | None
    distance_share: float | None
    n_near: int
    near_share: float


class PoolGeometry:
    """Distances in one round's embeddings, kept until another label or round changes them.

    Memory and time grow with the pool times the labels; nothing is kept per pair.
    """

    def __init__(self, drawn: Round, state: SessionState, ids: Sequence[str], record: PoolRecord) -> None:
        self._key = (drawn.event, state.labels_digest)
        self._drawn, self._ids, self._scores = drawn, ids, record.scores
        self._row_of = {item: row for row, item in enumerate(ids)}
        self._space = Space(record.embeddings)
        self._labelled = [self._row_of[item] for item in state.labels if item in self._row_of]
        self._asked = [self._row_of[each.item] for each in drawn.asked]
        self._to_label = self._space.nearest(np.array(self._labelled, np.int64))

    def is_of(self, drawn: Round, state: SessionState) -> bool:
        """Whether it still holds."""
        return self._key == (drawn.event, state.labels_digest)

    def explain(self, item: str) -> Why:
        """The facts about one item of the round."""
        row = self._row_of[item]
        draw = next(each for each in self._drawn.proposed if each.item == item)
        away = self._space.distances(row)
        n_near = int((away <= self._to_others(row)).sum())
        others = [other for other in self._labelled if other != row]
        nearest = min(others, key=lambda other: float(away[other]), default=None)
        distance = None if nearest is None else float(away[nearest])
        return Why(
            item=item,
            round=self._drawn.number,
            score=draw.score,
            score_share=float(np.mean(self._scores < self._scores[row])),
            odds=draw.odds,
            nearest=None if nearest is None else self._ids[nearest],
            distance=distance,
            distance_share=None if distance is None else float(np.mean(self._to_label < distance)),
            n_near=n_near,
            near_share=n_near / len(self._ids),
        )

    def _to_others(self, row: int) -> Floats:
        """Distances (N,) to the nearest row labelled or asked about, but for this one."""
        others = [other for other in {*self._labelled, *self._asked} if other != row]
        return self._space.nearest(np.array(others, np.int64))
