"""From a frame to the float matrix a backbone learns on, the same way for the pool and for new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.data.column_codes import CategoryCode, ColumnCode, NumericCode, fit_column
from soel.data.columns import Column
from soel.data.frame import Frame
from soel.data.scaling import Scale, find_scaling
from soel.errors import ModelFileError, SchemaError

_N_SHOWN = 5


@dataclass(frozen=True)
class Encoder:
    """What was learnt about the pool's columns. A column that is constant in the pool gives no feature if the
    scaling says so; if all are constant, their features are zeros.
    """

    scaling: str
    named: bool
    columns: tuple[ColumnCode, ...]

    @classmethod
    def fit(cls, frame: Frame, scaling: str) -> Encoder:
        """Look at the pool."""
        way = find_scaling(scaling)
        return cls(
            scaling,
            frame.named,
            tuple(fit_column(name, column, way) for name, column in frame.columns.items()),
        )

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the pool, in order."""
        return tuple(code.name for code in self.columns)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Columns that hold categories: `as_frame` reads new rows alike when it is told."""
        return tuple(code.name for code in self.columns if isinstance(code, CategoryCode))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per column of the matrix."""
        return tuple(name for code in self._telling for name in code.feature_names)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """For each column of the matrix, the column of the frame it comes from."""
        return tuple(code.name for code in self._telling for _ in code.feature_names)

    @property
    def n_features(self) -> int:
        """The width of the matrix."""
        return len(self.feature_names)

    def encode(self, frame: Frame) -> NDArray[np.float32]:
        """The matrix (N, n_features) of a frame with the pool's columns, in any order if they have names."""
        columns = self._match(frame)
        matrix = np.zeros((frame.n_rows, self.n_features), np.float32)
        if all(code.constant for code in self.columns):
            return matrix
        position = 0
        for code in self._telling:
            width = len(code.feature_names)
            code.encode(columns[code.name], matrix[:, position : position + width])
            position += width
        return matrix

    def to_json(self) -> dict[str, Any]:
        """As plain values for a JSON file."""
        columns = [{"kind": code.kind, **asdict(code)} for code in self.columns]
        return {"scaling": self.scaling, "named": self.named, "columns": columns}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Encoder:
        """Back from the values of `to_json`."""
        try:
            columns = tuple(_read_code(code) for code in values["columns"])
            return cls(str(values["scaling"]), bool(values["named"]), columns)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"The description of the columns cannot be read ({error!r}). Save the model again."
            ) from error

    @property
    def _telling(self) -> Sequence[ColumnCode]:
        return [code for code in self.columns if not code.constant] or self.columns

    def _match(self, frame: Frame) -> Mapping[str, Column]:
        """The frame's columns under the pool's names: by name if both have names, else by position."""
        n_columns, names = len(self.columns), self.column_names
        if frame.named and self.named:
            _check_names(names, tuple(frame.columns))
            return frame.columns
        if len(frame.columns) != n_columns:
            raise SchemaError(
                f"X has {len(frame.columns)} features, but SOEL is expecting {n_columns} features as input. "
                "Give the columns of the pool in the same order."
            )
        return dict(zip(names, frame.columns.values(), strict=True))


def _read_code(values: Mapping[str, Any]) -> ColumnCode:
    name, marks_missing = str(values["name"]), bool(values["marks_missing"])
    if values["kind"] == CategoryCode.kind:
        categories = tuple(str(category) for category in values["categories"])
        return CategoryCode(name, categories, bool(values["has_other"]), marks_missing, bool(values["constant"]))
    if values["kind"] == NumericCode.kind:
        scale, clip = values["scale"], values["scale"]["clip"]
        measured = Scale(float(scale["centre"]), float(scale["width"]), None if clip is None else float(clip))
        return NumericCode(name, float(values["median"]), measured, marks_missing)
    raise ValueError(f"unknown kind of column {values['kind']!r}")


def _check_names(expected: tuple[str, ...], given: tuple[str, ...]) -> None:
    unseen = sorted(set(given) - set(expected))
    missing = sorted(set(expected) - set(given))
    if not unseen and not missing:
        return
    message = "The feature names should match those that were passed during fit.\n"
    message += _listed("Feature names unseen at fit time:", unseen)
    message += _listed("Feature names seen at fit time, yet now missing:", missing)
    raise SchemaError(message + "Give the columns of the pool, no more and no fewer; their order is free.")


def _listed(title: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = [*names[:_N_SHOWN], *(["..."] if len(names) > _N_SHOWN else [])]
    return "\n".join([title, *(f"- {name}" for name in shown)]) + "\n"
