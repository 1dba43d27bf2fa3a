"""From a frame to the float matrix a backbone learns on, the same way for the pool and for new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError, ModelFileError, SchemaError
from soel.tables.baseline import Baseline, ColumnBaseline, ColumnCode, Tally, count
from soel.tables.column_codes import CategoryCode, NumericCode
from soel.tables.columns import Column
from soel.tables.derived_codes import FrequencyCode, TextCode, TimeCode, fit_column
from soel.tables.frame import Frame
from soel.tables.reading.kinds import Reading, TableReading
from soel.tables.scaling import find_scaling

_N_SHOWN = 5


@dataclass(frozen=True)
class Encoder:
    """What was learnt about the pool's columns. A column that is constant in the pool gives no feature if the
    scaling says so; if all are constant, their features are zeros. columns: those that give features.

    reading: how the pool was read, None for an array of numbers and for models of before. baseline: what the pool held
    in each column, None where columns mean nothing each, and for models of before.
    """

    scaling: str
    named: bool
    columns: tuple[ColumnCode, ...]
    reading: TableReading | None = None
    baseline: Baseline | None = None

    @classmethod
    def fit(cls, frame: Frame, scaling: str) -> Encoder:
        """Look at the pool."""
        way, reading = find_scaling(scaling), frame.reading
        by_name = {} if reading is None else reading.by_name
        silent = frozenset() if reading is None else reading.silent
        telling = {name: column for name, column in frame.columns.items() if name not in silent}
        if not telling:
            raise DataError(
                "No column gives a feature: all are ids, empty or left out. Name a column as "
                "<<numeric>>, <<categorical>> or <<text>>."
            )
        codes = tuple(fit_column(name, column, way, by_name.get(name)) for name, column in telling.items())
        return cls(scaling, frame.named, codes, reading)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the pool that give features, in order."""
        return tuple(code.name for code in self.columns)

    @property
    def all_names(self) -> tuple[str, ...]:
        """All columns that the pool had."""
        return self.column_names if self.reading is None else tuple(each.name for each in self.reading.columns)

    @property
    def how(self) -> TableReading:
        """How new rows are to be read: as the pool was. Models of before know numbers and categories."""
        if self.reading is not None:
            return self.reading
        kinds = ((code.name, "number" if isinstance(code, NumericCode) else "category") for code in self.columns)
        return TableReading(tuple(Reading(name, kind) for name, kind in kinds))  # type: ignore[arg-type]

    @property
    def categorical(self) -> tuple[str, ...]:
        """Columns that hold categories."""
        return tuple(code.name for code in self.columns if isinstance(code, CategoryCode | FrequencyCode))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per column of the matrix."""
        return tuple(name for code in self._telling for name in code.feature_names)

    @property
    def telling_names(self) -> tuple[str, ...]:
        """The columns that the matrix holds something of, in order."""
        return tuple(code.name for code in self._telling)

    @property
    def column_of(self) -> NDArray[np.int64]:
        """Which of `telling_names` each column of the matrix comes from: (n_features,)."""
        widths = [len(code.feature_names) for code in self._telling]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def n_features(self) -> int:
        """The width of the matrix."""
        return len(self.feature_names)

    def encode(self, frame: Frame) -> NDArray[np.float32]:
        """The matrix (N, n_features) of a frame with the pool's columns, in any order if they have names."""
        columns = self.match(frame)
        matrix = np.zeros((frame.n_rows, self.n_features), np.float32)
        if all(code.constant for code in self.columns):
            return matrix
        position = 0
        for code in self._telling:
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
        found = {code.name: ColumnBaseline.measure(code, columns[code.name]) for code in self.columns}
        return replace(self, baseline=found)

    def tally(self, frame: Frame) -> Tally | None:
        """What new rows hold, counted as the pool was; None without a baseline."""
        if self.baseline is None:
            return None
        columns, known = self.match(frame), self.baseline
        return {code.name: count(code, columns[code.name], known[code.name].edges) for code in self.columns}

    def to_json(self) -> dict[str, Any]:
        """As plain values for a JSON file."""
        columns = [{"kind": code.kind, **_code_json(code)} for code in self.columns]
        reading = None if self.reading is None else self.reading.to_json()
        values = {"scaling": self.scaling, "named": self.named, "columns": columns, "reading": reading}
        if self.baseline is None:
            return values
        return values | {"baseline": {name: asdict(column) for name, column in self.baseline.items()}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Encoder:
        """Back from the values of `to_json`."""
        try:
            columns = tuple(_read_code(code) for code in values["columns"])
            reading = values.get("reading")
            how = None if reading is None else TableReading.from_json(reading)
            return cls(str(values["scaling"]), bool(values["named"]), columns, how, _read_baseline(values))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"The description of the columns cannot be read ({error!r}). Save the model again."
            ) from error

    @property
    def _telling(self) -> Sequence[ColumnCode]:
        return [code for code in self.columns if not code.constant] or self.columns

    def match(self, frame: Frame) -> Mapping[str, Column]:
        """The frame's columns under the pool's names: by name if both have names, else by position."""
        names = self.all_names
        if frame.named and self.named:
            silent = frozenset() if self.reading is None else self.reading.silent
            _check_names(self.column_names, tuple(name for name in frame.columns if name not in silent))
            return frame.columns
        if len(frame.columns) != len(names):
            raise SchemaError(
                f"X has {len(frame.columns)} features, but SOEL is expecting {len(names)} features as input. "
                "Give the columns of the pool in the same order."
            )
        return dict(zip(names, frame.columns.values(), strict=True))


_CODES = {code.kind: code for code in (NumericCode, CategoryCode, FrequencyCode, TextCode, TimeCode)}


def _read_code(values: Mapping[str, Any]) -> ColumnCode:
    if values["kind"] not in _CODES:
        raise ValueError(f"unknown kind of column {values['kind']!r}")
    code: ColumnCode = _CODES[values["kind"]].from_json(values)
    return code


def _read_baseline(values: Mapping[str, Any]) -> Baseline | None:
    kept = values.get("baseline")
    return None if kept is None else {name: ColumnBaseline.from_json(column) for name, column in kept.items()}


def _code_json(code: ColumnCode) -> dict[str, Any]:
    return asdict(code) if isinstance(code, NumericCode | CategoryCode) else code.to_json()


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
