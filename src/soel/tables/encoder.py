"""From a frame to the float matrix a backbone learns on, the same way for the pool and for new rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import ConfigError, DataError, ModelFileError, SchemaError
from soel.records import read_body
from soel.tables.codes import SCALINGS, Baseline, Code, Tally
from soel.tables.column import Column, Values
from soel.tables.frame import Frame
from soel.tables.kinds import kind_of
from soel.tables.kinds.number import Number
from soel.tables.schema import Schema

_N_SHOWN = 5


@dataclass(frozen=True)
class Encoder:
    """What was learnt about the pool's columns. A column that is constant in the pool gives no feature if the
    scaling says so; if all are constant, their features are zeros.

    columns: those that give features.
    schema: how the pool was read, None for an array of numbers.
    baseline: what the pool held in each column, None where columns mean nothing each.
    """

    scaling: str
    named: bool
    columns: tuple[Code, ...]
    schema: Schema | None = None
    baseline: Baseline | None = None

    @classmethod
    def fit(cls, frame: Frame, scaling: str) -> Encoder:
        if scaling not in SCALINGS:
            raise ConfigError(f"There is no scaling called {scaling!r}. Choose one of: {', '.join(SCALINGS)}.")
        by_name = {} if frame.schema is None else frame.schema.by_name
        used = frame.used
        if not used:
            raise DataError(
                "No column gives a feature: all are ids, empty or left out. Name a column as "
                "<<numeric>>, <<categorical>> or <<text>>."
            )
        columns = {name: by_name.get(name, Column(name, Number.name)) for name in used}
        codes = tuple(kind_of(columns[name]).fit(columns[name], values, scaling) for name, values in used.items())
        return cls(scaling, frame.named, codes, frame.schema)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the pool that give features, in order."""
        return tuple(code.name for code in self.columns)

    @property
    def all_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.how.columns)

    @property
    def how(self) -> Schema:
        """How new rows are to be read: as the pool was."""
        if self.schema is not None:
            return self.schema
        return Schema(tuple(Column(code.name, Number.name) for code in self.columns))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per column of the matrix."""
        return tuple(name for code in self._used for name in code.feature_names)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """The columns that the matrix holds something of, in order."""
        return tuple(code.name for code in self._used)

    @property
    def column_of(self) -> NDArray[np.int64]:
        """Which of `used_columns` each column of the matrix comes from: (n_features,)."""
        widths = [len(code.feature_names) for code in self._used]
        return np.repeat(np.arange(len(widths)), widths)

    def features_of(self, names: Collection[str]) -> NDArray[np.int64]:
        """The columns of the matrix that come from columns with these names; none from one that is not used."""
        return np.flatnonzero(np.isin(np.array(self.used_columns, object)[self.column_of], list(names)))

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    def encode(self, frame: Frame) -> NDArray[np.float32]:
        """The matrix (N, n_features) of a frame with the pool's columns, in any order if they have names."""
        columns = self.match(frame)
        matrix = np.zeros((frame.n_rows, self.n_features), np.float32)
        if all(code.constant for code in self.columns):
            return matrix
        position = 0
        for code in self._used:
            width = len(code.feature_names)
            code.encode(columns[code.name], matrix[:, position : position + width])
            position += width
        return matrix

    def goes_by_position(self, frame: Frame) -> bool:
        """Whether the frame's columns are matched by position although it has names, or the pool had some."""
        return frame.named != self.named

    def with_baseline(self, frame: Frame) -> Encoder:
        """The same with what this frame, the pool, holds in each column."""
        columns = self.match(frame)
        found = {code.name: code.measure(columns[code.name]) for code in self.columns}
        return replace(self, baseline=found)

    def tally(self, frame: Frame) -> Tally | None:
        """What new rows hold, counted as the pool was; None without a baseline."""
        if self.baseline is None:
            return None
        columns, known = self.match(frame), self.baseline
        return {code.name: code.tally(columns[code.name], known[code.name].edges) for code in self.columns}

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        return values if self.schema is None else values | {"schema": self.schema.to_json()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Encoder:
        try:
            return read_body(cls, values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"The description of the columns cannot be read ({error!r}). Save the model again."
            ) from error

    @property
    def _used(self) -> Sequence[Code]:
        return [code for code in self.columns if not code.constant] or self.columns

    def match(self, frame: Frame) -> Mapping[str, Values]:
        """The frame's columns under the pool's names: by name if both have names, else by position."""
        names = self.all_names
        if frame.named and self.named:
            unused = frozenset() if self.schema is None else self.schema.unused
            _check_names(self.column_names, tuple(name for name in frame.columns if name not in unused))
            return frame.columns
        if len(frame.columns) != len(names):
            raise SchemaError(
                f"X has {len(frame.columns)} features, but SOEL is expecting {len(names)} features as input. "
                "Give the columns of the pool in the same order."
            )
        return dict(zip(names, frame.columns.values(), strict=True))


def _check_names(expected: tuple[str, ...], given: tuple[str, ...]) -> None:
    unseen = sorted(set(given) - set(expected))
    missing = sorted(set(expected) - set(given))
    if not unseen and not missing:
        return
    message = "The feature names should match those that were passed during fit.\n"
    message += _list_names("Feature names unseen at fit time:", unseen)
    message += _list_names("Feature names seen at fit time, yet now missing:", missing)
    raise SchemaError(message + "Give the columns of the pool, no more and no fewer; their order is free.")


def _list_names(title: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = [*names[:_N_SHOWN], *(["..."] if len(names) > _N_SHOWN else [])]
    return "\n".join([title, *(f"- {name}" for name in shown)]) + "\n"
