"""When to stop labelling: what still moved when the newest labels came in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from soel.ask.space import Space
from soel.assess.metrics import auroc
from soel.session.rounds import PoolRecord, Round
from soel.types import Floats

if TYPE_CHECKING:
    from soel.session.state import SessionState

FEWEST, STILL_MOVES, STEADY = 8, 0.05, 0.95  # below these, a rule of thumb would only guess


@dataclass(frozen=True)
class HeldBack:
    """How well the model that drew a round ranked that round's answers, which it had not seen.

    auroc: None where all answers were of one kind.
    """

    round: int
    n_labels: int
    auroc: float | None


@dataclass(frozen=True)
class StoppingAdvice:
    """What the newest labels changed.

    n_labels: all of them. n_newest: those whose effect on the cover was measured: a quarter, the last ones.
    radius_before, radius: the largest distance from an item to its nearest label, without and with the newest;
    None without older labels. rank_agreement: Spearman's correlation of the pool's scores before the last round
    and after this fit. held_back: one entry per round with labels.
    """

    n_labels: int
    n_newest: int
    radius_before: float | None
    radius: float
    rank_agreement: float | None
    held_back: tuple[HeldBack, ...] = ()

    @property
    def radius_drop(self) -> float | None:
        """The share of the cover radius that the newest labels took away."""
        if not self.radius_before:
            return None
        return 1 - self.radius / self.radius_before

    @property
    def go_on(self) -> str:
        """A rule of thumb: 'yes' while cover or ranking move, 'little' when both rest, 'unknown' with few labels."""
        if self.n_labels < FEWEST or self.radius_drop is None or self.rank_agreement is None:
            return "unknown"
        moves = self.radius_drop > STILL_MOVES or self.rank_agreement < STEADY
        return "yes" if moves else "little"


def measure_advice(
    state: SessionState, ids: Sequence[str], record_of: Callable[[Round], PoolRecord], scores: Floats
) -> StoppingAdvice:
    """What the newest labels changed. scores: (N,) of the pool after this fit. Needs a round and a label."""
    assert state.round is not None
    row_of = {item: row for row, item in enumerate(ids)}
    labelled = sorted(state.labels, key=lambda item: state.answers[item].number)
    n_newest = max(1, len(labelled) // 4)
    rows = np.array([row_of[item] for item in labelled], np.int64)
    record = record_of(state.round)
    space = Space(record.embeddings)
    older = space.nearest(rows[:-n_newest])
    newer = np.minimum(older, space.nearest(rows[-n_newest:]))
    return StoppingAdvice(
        n_labels=len(labelled),
        n_newest=n_newest,
        radius_before=float(older.max()) if len(labelled) > n_newest else None,
        radius=float(newer.max()),
        rank_agreement=_spearman(record.scores, scores),
        held_back=tuple(_held_back(state, drawn) for drawn in state.rounds if _labels_of(state, drawn)),
    )


def _labels_of(state: SessionState, drawn: Round) -> list[tuple[int, float]]:
    """Label and score at the draw of each answer to this round."""
    answered = [each for each in drawn.draws if state.round_of(each.item) == drawn.number]
    return [(state.labels[each.item], each.score) for each in answered]


def _held_back(state: SessionState, drawn: Round) -> HeldBack:
    pairs = _labels_of(state, drawn)
    value = auroc(np.array([label for label, _ in pairs]), np.array([score for _, score in pairs]))
    return HeldBack(drawn.number, len(pairs), value if np.isfinite(value) else None)


def _spearman(before: Floats, after: Floats) -> float | None:
    """The correlation of two rankings; None where one of them does not rank at all."""
    from scipy.stats import rankdata  # takes a second to import, which labelling must not wait for

    ranks = [rankdata(values) for values in (before, after)]
    if any(np.ptp(each) == 0 for each in ranks):
        return None
    return float(np.corrcoef(*ranks)[0, 1])
