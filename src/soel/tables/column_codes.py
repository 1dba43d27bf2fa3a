"""How one column becomes features: what a missing value and an unseen category mean is decided here.

A missing number takes the pool's median. If the pool had missing values in the column, a feature 'is missing'
tells them apart. A missing category is a category of its own if the pool had it, else all zeros. A category
that the pool did not have is all zeros (in models of before, 'other' in a column where rare ones share a feature).
More than 32 are told by how frequent they are (`derived_codes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from soel.errors import DataError, SchemaError
from soel.tables.columns import Column, as_categories
from soel.tables.scaling import Scale, Scaling
from soel.types import Floats


@dataclass(frozen=True)
class NumericCode:
    """A numeric column: one scaled feature, and one for 'is missing' if the pool had missing values."""

    kind: ClassVar[str] = "numeric"
    name: str
    median: float
    scale: Scale
    marks_missing: bool

    @classmethod
    def fit(cls, name: str, values: Column, scaling: Scaling) -> NumericCode:
        """Look at the column in the pool (N,)."""
        missing = np.isnan(values)
        if missing.all():
            raise DataError(f"Column {name!r} has no value in any row of the pool. Leave the column out.")
        seen = values[~missing]
        return cls(name, float(np.median(seen)), scaling.measure(seen), bool(missing.any()))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> NumericCode:
        """Back from plain values."""
        scale, clip = values["scale"], values["scale"]["clip"]
        measured = Scale(float(scale["centre"]), float(scale["width"]), None if clip is None else float(clip))
        return cls(str(values["name"]), float(values["median"]), measured, bool(values["marks_missing"]))

    @property
    def constant(self) -> bool:
        """Whether it tells no row from another."""
        return not self.scale.width and not self.marks_missing

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature."""
        indicator = (f"{self.name} is missing",) if self.marks_missing else ()
        return ((self.name,) if self.scale.width or not indicator else ()) + indicator

    def encode(self, column: Column, features: Floats) -> None:
        """Write the features into zeros (N, number of features)."""
        if column.dtype != np.float64:
            example = next((cell for cell in column if cell == cell and cell is not None), None)
            raise SchemaError(
                f"Column {self.name!r} held numbers in the pool and holds text such as {example!r} now. "
                "Give numbers, or NaN where the value is missing."
            )
        missing = np.isnan(column)
        if self.marks_missing:
            features[:, -1] = missing
        if self.scale.width or not self.marks_missing:
            features[:, 0] = self.scale.apply(np.where(missing, self.median, column))


@dataclass(frozen=True)
class CategoryCode:
    """A categorical column: one feature per category of the pool, 1 in the rows that have it."""

    kind: ClassVar[str] = "categorical"
    name: str
    categories: tuple[str, ...]
    has_other: bool
    marks_missing: bool
    constant: bool

    @classmethod
    def fit(cls, name: str, counts: Counter[str], n_missing: int, scaling: Scaling) -> CategoryCode:
        """Look at how often the categories occur in the pool."""
        constant = scaling.drops_constant and len(counts) + bool(n_missing) == 1
        return cls(name, tuple(sorted(counts)), False, n_missing > 0, constant)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature."""
        names = [f"{self.name} = {category}" for category in self.categories]
        names += [f"{self.name} is other"] * self.has_other + [f"{self.name} is missing"] * self.marks_missing
        return tuple(names)

    def encode(self, column: Column, features: Floats) -> None:
        """Write the features into zeros (N, number of features)."""
        positions: dict[str | None, int] = {category: at for at, category in enumerate(self.categories)}
        other = len(positions) if self.has_other else -1
        positions[None] = len(positions) + self.has_other if self.marks_missing else -1
        cells = as_categories(column).tolist()
        codes = np.fromiter((positions.get(cell, other) for cell in cells), np.int64, len(cells))
        known = np.flatnonzero(codes >= 0)
        features[known, codes[known]] = 1

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CategoryCode:
        """Back from plain values."""
        categories = tuple(str(category) for category in values["categories"])
        marks = bool(values["marks_missing"])
        return cls(str(values["name"]), categories, bool(values["has_other"]), marks, bool(values["constant"]))
