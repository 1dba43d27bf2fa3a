"""Columns that become a few derived numbers: how frequent a name is, when something was, how a text looks.

Each derived number is coded like a numeric column. A missing cell takes the medians and is marked once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from soel.errors import SchemaError
from soel.tables.column_codes import CategoryCode, NumericCode
from soel.tables.columns import Column, as_categories
from soel.tables.reading.kinds import Reading
from soel.tables.reading.words import MAX_CATEGORIES
from soel.tables.scaling import Scaling
from soel.types import Floats

DAY = 86_400.0
YEAR_PARTS_FROM = 365.0  # days that a pool has to span: the months that it lacks would look odd in later rows
WEEK_PARTS_FROM = 14.0
Derived = Mapping[str, Floats]


@dataclass(frozen=True)
class _Parts:
    """Numbers derived from one column, by name."""

    name: str
    parts: tuple[NumericCode, ...]

    @property
    def constant(self) -> bool:
        """Whether it tells no row from another."""
        return all(part.constant for part in self.parts)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature."""
        return tuple(
            f"{self.name} is missing" if name != part.name else name
            for part in self.parts
            for name in part.feature_names
        )

    def _write(self, derived: Derived, features: Floats) -> None:
        at = 0
        for part in self.parts:
            width = len(part.feature_names)
            part.encode(derived[part.name], features[:, at : at + width])
            at += width

    def _parts_json(self) -> list[dict[str, Any]]:
        return [asdict(part) for part in self.parts]


@dataclass(frozen=True)
class FrequencyCode(_Parts):
    """Names, of which there are many: one feature, the logarithm of the share of the pool's rows that have the name.

    counts: names that occur more than once; all others are as rare as can be, whether the pool had them or not.
    """

    kind: ClassVar[str] = "frequency"
    counts: Mapping[str, int]
    n_rows: int

    @classmethod
    def fit(cls, name: str, counts: Counter[str], column: Column, scaling: Scaling) -> FrequencyCode:
        """Look at the column in the pool (N,)."""
        repeated = {text: count for text, count in counts.items() if count > 1}
        code = cls(name, (), dict(sorted(repeated.items())), len(column))
        return replace(code, parts=_fit_parts(code._derive(column), scaling))

    def encode(self, column: Column, features: Floats) -> None:
        """Write the features into zeros (N, number of features)."""
        self._write(self._derive(column), features)

    def _derive(self, column: Column) -> Derived:
        texts = as_categories(column).tolist()
        shares = {text: np.log(count / self.n_rows) for text, count in self.counts.items()}
        rarest = float(np.log(1 / self.n_rows))
        values = (np.nan if text is None else shares.get(text, rarest) for text in texts)
        return {f"{self.name} (frequency)": np.fromiter(values, np.float64, len(texts))}

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"name": self.name, "parts": self._parts_json(), "counts": dict(self.counts), "n_rows": self.n_rows}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FrequencyCode:
        """Back from plain values."""
        counts = {str(text): int(count) for text, count in values["counts"].items()}
        return cls(str(values["name"]), _parts_from(values), counts, int(values["n_rows"]))


@dataclass(frozen=True)
class TextCode(_Parts):
    """Free text: its length, its digits and its words, on a scale of logarithms."""

    kind: ClassVar[str] = "text"

    @classmethod
    def fit(cls, name: str, column: Column, scaling: Scaling) -> TextCode:
        """Look at the column in the pool (N,)."""
        return cls(name, _fit_parts(cls._derive(name, column), scaling))

    def encode(self, column: Column, features: Floats) -> None:
        """Write the features into zeros (N, number of features)."""
        self._write(self._derive(self.name, column), features)

    @staticmethod
    def _derive(name: str, column: Column) -> Derived:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pa.array(as_categories(column), pa.string())
        measures = {
            "length": pc.utf8_length(texts),
            "digits": pc.count_substring_regex(texts, r"\d"),
            "words": pc.count_substring_regex(texts, r"\S+"),
        }
        return {
            f"{name} ({what})": np.log1p(np.asarray(counts.cast(pa.float64()).to_numpy(zero_copy_only=False)))
            for what, counts in measures.items()
        }

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"name": self.name, "parts": self._parts_json()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TextCode:
        """Back from plain values."""
        return cls(str(values["name"]), _parts_from(values))


@dataclass(frozen=True)
class TimeCode(_Parts):
    """Points in time: hour, weekday and month as places on a circle; and the time since the row before, where the
    pool's rows are in the order of the column.

    Absolute time is no feature: every later row would be far from the pool because it is later.
    """

    kind: ClassVar[str] = "time"

    @classmethod
    def fit(cls, name: str, column: Column, scaling: Scaling) -> TimeCode:
        """Look at the column in the pool (N,)."""
        derived, seconds = _derive_time(name, column), _seconds(column)
        present = seconds[~np.isnan(seconds)]
        span = float(present.max() - present.min()) / DAY
        steps = np.diff(present)
        in_order = len(steps) > 1 and bool((steps >= 0).all() or (steps <= 0).all())
        wanted = ["hour"] if bool((present % DAY != 0).any()) else []
        wanted += ["weekday"] * (span >= WEEK_PARTS_FROM) + ["month"] * (span >= YEAR_PARTS_FROM)
        wanted += ["since the row before"] * in_order
        chosen = {key: values for key, values in derived.items() if any(f"({part}" in key for part in wanted)}
        chosen = chosen or {name: derived[name]}  # nothing but whether it is missing
        return cls(name, _fit_parts(chosen, scaling, np.isnan(seconds)))

    def encode(self, column: Column, features: Floats) -> None:
        """Write the features into zeros (N, number of features)."""
        if column.dtype.kind != "M":
            example = next((cell for cell in column.tolist() if cell is not None), None)
            raise SchemaError(
                f"Column {self.name!r} held dates or times in the pool and holds values such as {example!r} now. "
                "Write it as in the pool."
            )
        derived = _derive_time(self.name, column)
        self._write(derived, features)
        first = self.parts[0]
        if first.marks_missing:
            features[:, len(first.feature_names) - 1] = np.isnat(column)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"name": self.name, "parts": self._parts_json()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TimeCode:
        """Back from plain values."""
        return cls(str(values["name"]), _parts_from(values))


def fit_column(name: str, column: Column, scaling: Scaling, reading: Reading | None = None) -> Any:
    """The code of a column, by how it is read and by what it holds in the pool."""
    if column.dtype == np.float64:
        return NumericCode.fit(name, column, scaling)
    if column.dtype.kind == "M":
        return TimeCode.fit(name, column, scaling)
    if reading is not None and reading.kind == "text":
        return TextCode.fit(name, column, scaling)
    counts = Counter(column.tolist())
    n_missing = counts.pop(None, 0)
    if len(counts) > MAX_CATEGORIES:
        return FrequencyCode.fit(name, counts, column, scaling)
    return CategoryCode.fit(name, counts, n_missing, scaling)


def _fit_parts(derived: Derived, scaling: Scaling, missing: np.ndarray | None = None) -> tuple[NumericCode, ...]:
    """Codes of the derived numbers; that the cell is missing is said once, by the first of them."""
    codes = [NumericCode.fit(name, values, scaling) for name, values in derived.items() if not np.isnan(values).all()]
    telling = [code for code in codes if code.scale.width] or codes[:1]
    if missing is None:
        missing = np.isnan(next(iter(derived.values())))
    marks = [bool(missing.any()), *[False] * (len(telling) - 1)]
    return tuple(replace(code, marks_missing=mark) for code, mark in zip(telling, marks, strict=True))


def _seconds(column: Column) -> Floats:
    return np.where(np.isnat(column), np.nan, column.astype("datetime64[us]").astype(np.int64) / 1e6)


def _derive_time(name: str, column: Column) -> Derived:
    seconds = _seconds(column)
    days = np.floor(seconds / DAY)
    months = np.where(np.isnat(column), np.nan, column.astype("datetime64[M]").astype(np.int64) % 12)
    gap = np.full(len(column), np.nan)
    gap[1:] = np.log1p(np.abs(np.diff(seconds)))
    circles = {"hour": seconds % DAY / DAY, "weekday": (days + 3) % 7 / 7, "month": months / 12}
    turned = {
        f"{name} ({what}, {way.__name__})": way(2 * np.pi * part)
        for what, part in circles.items()
        for way in (np.sin, np.cos)
    }
    return {**turned, f"{name} (since the row before)": gap, name: seconds * 0.0}


def _parts_from(values: Mapping[str, Any]) -> tuple[NumericCode, ...]:
    return tuple(NumericCode.from_json(part) for part in values["parts"])
