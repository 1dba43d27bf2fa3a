"""Rows of a table explained by a model of it, in the cells of that table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.explain.counterfactual import Counterfactual, Explainer
from soel.explain.explanation import Explanation, Reason, RowExplanation
from soel.explain.groups import Part
from soel.explain.words import show_cell
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.types import Floats, Labels, Progress

if TYPE_CHECKING:
    from soel.model import Blend

Cells = Mapping[str, Sequence[Any] | np.ndarray]


@dataclass(frozen=True)
class TableExplainer:
    """Explains rows of one table by one model. donors: rows of the pool whose values are taken, with names."""

    explainer: Explainer
    encoder: Encoder
    donors: Frame
    names: Sequence[str]

    @classmethod
    def of(
        cls,
        model: Blend,
        encoder: Encoder,
        pool: Frame,
        features: Floats,
        scores: Floats,
        labels: Labels,
        threshold: float,
        ids: Sequence[str] | None = None,
    ) -> TableExplainer:
        """From a pool, encoded to features (N, d), with its scores (N,) by the model, labels (N,) and ids."""
        explainer = Explainer.of(model, features, scores, labels, threshold, encoder.column_of)
        positions = explainer.positions
        names = [f"row {row}" if ids is None else ids[row] for row in positions.tolist()]
        return cls(explainer, encoder, pool.take(positions), names)

    def explain(self, frame: Frame, features: Floats, progress: Progress | None = None) -> Explanation:
        """Rows with the features (n, d) that they were encoded to."""
        given, columns = self.encoder.match(frame), self.encoder.used_columns
        found = self.explainer.explain(features, progress)
        rows = tuple(self._in_cells(each, given, features[row], row) for row, each in enumerate(found))
        groups = tuple(tuple(columns[at] for at in group) for group in self.explainer.groups)
        return Explanation(rows, columns, groups)

    def _in_cells(self, found: Counterfactual, given: Cells, x: Floats, row: int) -> RowExplanation:
        at = int(np.searchsorted(self.explainer.positions, found.donor)) if found.donor >= 0 else -1
        return RowExplanation(
            found.score,
            found.rank,
            found.is_alarm,
            self.names[at] if at >= 0 else "",
            found.donor,
            found.baseline,
            tuple(
                self._reason(self._from_the_farthest(part, x, at), share, given, row, at)
                for part, share in zip(found.parts, found.contributions, strict=True)
            ),
            found.remainder,
            found.changed_rank,
            found.suffices,
        )

    def _from_the_farthest(self, part: Part, x: Floats, donor: int) -> Part:
        """Of two columns, which are equally central, the one first in which a row (d,) and its donor differ more."""
        if len(part) > 2 or part[0] in self.explainer.named:
            return part
        apart, spread = np.abs(x - self.explainer.rows[donor]), self.explainer.rows.std(axis=0)
        apart = apart / np.where(spread > 0, spread, 1)
        return tuple(sorted(part, key=lambda column: -apart[self.encoder.column_of == column].max()))

    def _reason(self, part: Part, contribution: float, given: Cells, row: int, donor: int) -> Reason:
        """A part as cells, without columns in which both rows look the same."""
        names = [self.encoder.used_columns[column] for column in part]
        cells = [(name, given[name][row], self._usual[name][donor]) for name in names]
        differ = [each for each in cells if show_cell(each[1]) != show_cell(each[2])] or cells
        columns, values, usual = zip(*differ, strict=True)
        group = next(at for at, columns_of in enumerate(self.explainer.groups) if part[0] in columns_of)
        return Reason(columns, values, usual, contribution, group, _direction(values[0], usual[0]))

    @cached_property
    def _usual(self) -> Cells:
        return self.encoder.match(self.donors)


def _direction(value: Any, usual: Any) -> int:
    """1 for up, -1 for down, 0 where the two have no order."""
    if isinstance(value, str) or value is None or usual is None:
        return 0
    return int(value > usual) - int(value < usual)
