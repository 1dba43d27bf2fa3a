"""Scoring the parts of a stream on the machines of a cluster: each writes the parts it has scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.errors import SessionError
from soel.scoring.ray.parts import Done
from soel.scoring.score_stream import ScoreParts, Scorer, score_parts
from soel.scoring.scored_parts import ScoredParts
from soel.tables.batches import Part
from soel.tables.encoder import Encoder
from soel.types import Counted

if TYPE_CHECKING:
    from soel.learner import Blend
    from soel.scoring.ray.states import Form, State

_LAST: dict[str, Any] = {}  # the model that this process has scored with, so that it is built once


def scoring_on(engine: Any, model: Any) -> ScoreParts | None:
    """What scores parts on the engine's cluster; None where the engine has none."""
    cluster = getattr(engine, "cluster", None)
    if cluster is None:
        return None

    def score(parts: ScoredParts, wanted: Sequence[Part], scorer: Scorer, on_rows: Counted | None) -> None:
        from soel.scoring.ray.states import state_of

        there = replace(parts, folder=Path(parts.folder).resolve())
        work = ScorePart(there, scorer.encoder, scorer.model, cluster.form, state_of(model.blend))
        cluster.map_parts(work, [part.number for part in wanted], on_rows)

    return score


@dataclass(frozen=True)
class ScorePart:
    """Scores one part and writes it. It is sent to the workers."""

    parts: ScoredParts
    encoder: Encoder
    model: str
    form: Form
    state: State

    def __call__(self, number: int) -> Done:
        """Score the part of this number."""
        part, blend = self.parts.stream.parts[number], self._blend()
        scorer = Scorer(self.model, self.encoder, blend.score, lambda scores: scores > 0)
        try:
            score_parts(self.parts, [part], scorer)
        except OSError as error:
            raise SessionError(
                f"Part {number} of the scores cannot be written to {self.parts.folder}: {error.strerror or error}. "
                "What is finished is kept: make room, then run the same command again."
            ) from error
        return Done(part.n_rows)

    def _blend(self) -> Blend:
        from soel.scoring.ray.states import restore_blend

        if self.model not in _LAST:
            _LAST.clear()
            _LAST[self.model] = restore_blend(self.form, self.state)
        return _LAST[self.model]  # type: ignore[no-any-return]
