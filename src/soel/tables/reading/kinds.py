"""What is known of a column and of a table, as plain data that can be stored and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from soel.errors import ModelFileError

Kind = Literal["number", "flag", "category", "time", "duration", "text", "id", "constant", "ignored"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SILENT: tuple[Kind, ...] = ("id", "ignored")  # kinds that give no feature


@dataclass(frozen=True)
class Form:
    """How the text of a cell is turned into its value. What a kind does not need keeps its default.

    decimal, thousands: the signs in numbers; thousands may be several. units: what may stand around a number (a
    currency, a percent sign, a unit) and by how much each multiplies. words: the flags' words, 1 for yes and 0 for no.
    layout: the name of a layout of times or durations (see `times`). order: of day, month and year, such as 'dmy'.
    missing: numbers that stand for a missing value, such as -999 (see `missing_codes`).
    """

    decimal: str = "."
    thousands: str = ""
    units: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)
    layout: str = ""
    order: str = ""
    missing: tuple[float, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether numbers are as a computer writes them."""
        return self.decimal == "." and not self.thousands and not self.units


PLAIN = Form()


@dataclass(frozen=True)
class Seen:
    """What the pool holds in a column. n_missing, n_distinct: counts. examples: a few cells as they are written.

    oddities: what looks odd, in words. bars: how many rows lie in each of equal steps from `low` to `high`, or have
    each of the most frequent values. low, high: the ends as people read them.
    """

    n_missing: int = 0
    n_distinct: int = 0
    examples: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()
    bars: tuple[int, ...] = ()
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Reading:
    """How one column is read. doubt: why another reading is possible, empty where this one is sure."""

    name: str
    kind: Kind
    form: Form = PLAIN
    doubt: str = ""
    seen: Seen = field(default_factory=Seen)

    @property
    def is_sure(self) -> bool:
        """Whether there is no other sensible reading."""
        return not self.doubt

    def to_json(self) -> dict[str, Any]:
        """As plain values; what has its default is left out of the form."""
        form = {key: value for key, value in asdict(self.form).items() if value != getattr(PLAIN, key)}
        return {"name": self.name, "kind": self.kind, "form": form, "doubt": self.doubt, "seen": asdict(self.seen)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Reading:
        """Back from the values of `to_json`."""
        if values["kind"] not in KINDS:
            raise ValueError(f"unknown kind of column {values['kind']!r}")
        form, seen = Form(**_with_tuples(values["form"])), Seen(**_with_tuples(values["seen"]))
        return cls(str(values["name"]), values["kind"], form, str(values["doubt"]), seen)


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values from JSON, which has lists for tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


@dataclass(frozen=True)
class Layout:
    """What was found out about a file. format: its kind in a word. encoding, separator: of text; header: its line."""

    format: str = ""
    encoding: str = ""
    separator: str = ""
    notes: tuple[str, ...] = ()


UNKNOWN = Layout()


@dataclass(frozen=True)
class TableReading:
    """How a table is read. decimal: the decimal sign of its text. n_duplicates: rows that repeat an earlier one.

    drop_duplicates: whether those are left out of a pool.
    """

    columns: tuple[Reading, ...]
    n_rows: int = 0
    n_duplicates: int = 0
    decimal: str = "."
    layout: Layout = UNKNOWN
    drop_duplicates: bool = False

    def __getitem__(self, name: str) -> Reading:
        """The reading of a column."""
        return self.by_name[name]

    @property
    def by_name(self) -> dict[str, Reading]:
        """All readings by the names of their columns."""
        return {reading.name: reading for reading in self.columns}

    @property
    def doubtful(self) -> tuple[Reading, ...]:
        """Columns that might be meant otherwise."""
        return tuple(reading for reading in self.columns if not reading.is_sure)

    @property
    def silent(self) -> frozenset[str]:
        """Columns that give no feature; new rows need not have them."""
        return frozenset(reading.name for reading in self.columns if reading.kind in SILENT)

    def without(self, names: Any) -> TableReading:
        """The reading less some columns."""
        return replace(self, columns=tuple(reading for reading in self.columns if reading.name not in names))

    def to_json(self) -> dict[str, Any]:
        """As plain values for a JSON file."""
        return {
            "columns": [reading.to_json() for reading in self.columns],
            "n_rows": self.n_rows,
            "n_duplicates": self.n_duplicates,
            "decimal": self.decimal,
            "layout": asdict(self.layout),
            "drop_duplicates": self.drop_duplicates,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TableReading:
        """Back from the values of `to_json`."""
        try:
            layout = values["layout"]
            return cls(
                tuple(Reading.from_json(column) for column in values["columns"]),
                int(values["n_rows"]),
                int(values["n_duplicates"]),
                str(values["decimal"]),
                Layout(**layout | {"notes": tuple(layout["notes"])}),
                bool(values["drop_duplicates"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"The description of how columns are read cannot be read itself ({error!r}). Save the model again."
            ) from error
