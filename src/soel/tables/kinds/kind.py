"""What a kind of column is: one class that recognises, parses, encodes and describes it.

A kind is a file with a subclass of `ColumnKind`, one line in `kinds.KINDS`, and its words for people
(`columns.kind_NAME` and `reading.n_NAME` in the languages of the page). Nothing else branches on the name of a kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from soel.errors import DataError, SchemaError
from soel.tables.arrow import pa, pc, tidy
from soel.tables.codes import Code
from soel.tables.column import PLAIN, Column, Form, Seen, Values, as_seconds
from soel.tables.raw_table import RawColumn
from soel.types import Floats

N_BARS, N_EXAMPLES = 16, 3
MAX_CATEGORIES = 32  # more are told by how frequent they are
NEARLY_ALL, MANY = 0.9, 0.3  # shares of cells that are distinct
LONG = 4.0  # words a cell of free text has on average
FEW_ROWS = 5
N_TOP = 50
_ID_NAME = re.compile(
    r"(?:^|[\W_])(?:id|ids|uuid|guid|rowid|row|index|idx|key|pk|nr|no|number|serial|record|ref|reference)$"
    r"|^(?:unnamed: ?\d+|#)$",
    re.IGNORECASE,
)
_ID_END = re.compile(r"[a-z](?:Id|ID|Key|Nr|No)$|(?i:beleg|auftrags?|kunden|rechnungs|bestell|vorgangs|konto)nr\.?$")
_LABEL_NAME = re.compile(
    r"^(?:is[ _]?)?(?:label|target|(?:ground[ _]?)?truth|class|outcome|fraud(?:ulent)?|anomal(?:y|ous)|outlier|y)s?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FileHints:
    """What all columns of a file share.

    decimal: its decimal sign, None where columns do not tell; said: whether somebody said so.
    separator: of its cells. named: whether its columns have names of their own. dates: the order that was asked for.
    """

    decimal: str | None = None
    said: bool = False
    separator: str = ""
    named: bool = True
    dates: str | None = None


@dataclass(frozen=True)
class NumberSigns:
    """What the text of a column allows.

    signs: (decimal, thousands) that fit all cells.
    units: what stands around the numbers.
    seen: which of '.' and ',' stand in the cells.
    """

    signs: tuple[tuple[str, str], ...]
    units: tuple[str, ...]
    seen: str = ""

    @property
    def decimal(self) -> str | None:
        """The decimal sign that the column tells of the whole file; None where it could be either."""
        decimals = {decimal for decimal, _ in self.signs}
        return decimals.pop() if self.seen and len(decimals) == 1 else None


@dataclass(frozen=True)
class ColumnSource:
    """A column whose kind is to be found.

    asked: the option that names it, if there is one.
    texts: its cells as tidy Arrow strings, null for missing; None where the file has numbers or times.
    plain: its values, if all are numbers as computers write them.
    numbers: what else its text allows as numbers.
    whole, lost: whether its numbers are whole, and too large to be kept exactly.
    """

    name: str
    cells: RawColumn
    asked: str | None = None
    texts: Any = None
    plain: Floats | None = None
    numbers: NumberSigns | None = None
    whole: bool = False
    lost: bool = False
    file: FileHints = field(default_factory=FileHints)

    @property
    def is_words(self) -> bool:
        """Whether the cells are text that holds no numbers."""
        return self.texts is not None and self.plain is None and self.numbers is None

    @property
    def is_empty(self) -> bool:
        if self.texts is None:
            return self.cells.is_empty
        return self.texts.null_count == len(self.texts) or (self.asked is not None and not self.words.n_cells)

    @cached_property
    def words(self) -> Words:
        return count_words(self.as_texts)

    @cached_property
    def words_a_cell(self) -> float:
        """How many words a cell has on average."""
        return 1.0 + float(pc.mean(pc.count_substring(self.as_texts, " ")).as_py() or 0.0)

    @cached_property
    def as_texts(self) -> Any:
        """The cells as tidy Arrow strings, also where they are numbers or times."""
        return tidy(pa.array(self.cells.as_words(), pa.string())) if self.texts is None else self.texts


@dataclass(frozen=True)
class Found:
    """How a kind reads a column. values: those of the pool, where they are computed already."""

    seen: Seen
    form: Form = PLAIN
    doubt: str = ""
    values: Values | None = None


class ColumnKind:
    """A kind of column.

    name: for `Column.kind`. into: what it becomes, in words. option: the setting that asks for it, such as 'numeric'.
    changed_by: options that read such a column otherwise.
    is_used: whether it gives features. is_kept: whether a frame has its values. names_rows: whether these are ids.
    holds, plain_advice: what its cells are and should be, for messages.
    names_layout: whether the layout of its form is shown to people.
    """

    name: ClassVar[str]
    into: ClassVar[str] = ""
    option: ClassVar[str] = ""
    changed_by: ClassVar[tuple[str, ...]] = ("categorical", "ignore")
    is_used: ClassVar[bool] = True
    is_kept: ClassVar[bool] = True
    names_rows: ClassVar[bool] = False
    holds: ClassVar[str] = "text"
    plain_advice: ClassVar[str] = ""
    names_layout: ClassVar[bool] = False

    def sniff(self, source: ColumnSource) -> Found | None:
        """How the column is read, if it is of this kind; the first kind that says so has it."""
        return None

    def parse(self, column: Column, cells: RawColumn) -> Values:
        """The values of a column; cells that cannot be read so are refused."""
        return cells.as_words()

    def is_as_stored(self, column: Column) -> bool:
        """Whether the values are the numbers that the file has."""
        return False

    def show(self, column: Column, values: Values) -> Values:
        return values

    def fit(self, column: Column, values: Values, scaling: str) -> Code:
        """The code of a column, by what it holds in the pool (N,)."""
        raise NotImplementedError(f"columns of kind {self.name} give no features")

    def becomes(self, column: Column) -> str:
        return self.into

    def asked_in_vain(self, source: ColumnSource) -> DataError:
        """What to raise if the kind was asked for and cannot be had."""
        return DataError(f"Column {source.name!r} is asked for as {self.name}, and cannot be read so.")

    def differs(self, column: Column, given: str) -> SchemaError:
        """What to raise for new rows that read differently."""
        example = column.seen.examples[0] if column.seen.examples and not column.form.is_plain else None
        held = f"Column {column.name!r} held {self.holds} in the pool" + (f" (such as {example!r})" if example else "")
        advice = (column.form.is_plain and self.plain_advice) or "Write it as in the pool"
        return SchemaError(f"{held} and holds {given} now. {advice}.")


def example_of(cells: RawColumn) -> str:
    """A cell for a message."""
    objects = [cell for cell in cells.as_words().tolist() if cell is not None]
    return repr(objects[0]) if objects else "nothing"


def has_fractions(values: Floats) -> bool:
    """Whether some number is not whole."""
    present = values[~np.isnan(values)]
    with np.errstate(invalid="ignore"):  # an infinity leaves no remainder
        return bool((present % 1 != 0).any())


def ends_as_written(texts: Any, values: Values) -> tuple[str, ...]:
    """The cells with the smallest and the largest of the values (N,) as they are written.

    Of several, the first by the alphabet, so that the order of rows does not matter.
    """
    present = values[~(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))]
    if not len(present):
        return ()
    ends = (pc.min(texts.filter(pa.array(values == end))).as_py() for end in (present.min(), present.max()))
    return tuple(dict.fromkeys(map(str, ends)))


def see_numbers(values: Floats, texts: Any = None) -> Seen:
    """Of numbers (N,), NaN for missing. texts: what they were read from."""
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if not len(present):
        return Seen(n_missing)
    ordered = np.sort(present)
    n_distinct = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    low, high = ordered[int(0.005 * (len(ordered) - 1))], ordered[int(np.ceil(0.995 * (len(ordered) - 1)))]
    ends = _number(float(ordered[0])), _number(float(ordered[-1]))
    examples = () if texts is None else ends_as_written(texts, values)
    return Seen(n_missing, n_distinct, examples or tuple(dict.fromkeys(ends)), (), _bars(ordered, low, high), *ends)


def see_times(values: Values, texts: Any = None) -> Seen:
    """Of times (N,), NaT for missing. texts: what they were read from."""
    seen, present = see_numbers(as_seconds(values)), values[~np.isnat(values)]
    if not len(present):
        return seen
    low, high = (str(end.astype("datetime64[s]")).replace("T", " ") for end in (present.min(), present.max()))
    examples = () if texts is None else ends_as_written(texts, values)
    return replace(seen, examples=examples or tuple(dict.fromkeys((low, high))), low=low, high=high)


def see_words(words: Words, n_rows: int) -> Seen:
    """Of texts: the bars are the most frequent ones."""
    bars = words.counts[:N_BARS] if words.n_distinct > 1 else ()
    low, high = (words.top[0], "") if words.top else ("", "")
    return Seen(n_rows - words.n_cells, words.n_distinct, tuple(words.top[:N_EXAMPLES]), (), bars, low, high)


def _bars(ordered: Floats, low: float, high: float) -> tuple[int, ...]:
    """How many of the sorted values lie in equal steps from low to high; those beyond count at the ends."""
    if not low < high:
        return (len(ordered),)
    cuts = np.searchsorted(ordered, low + (high - low) * (np.arange(1, N_BARS) / N_BARS), side="right")
    return tuple(np.diff(cuts, prepend=0, append=len(ordered)).tolist())


def _number(value: float) -> str:
    return f"{value:.6g}" if abs(value) < 1e15 and value != int(value) else f"{value:.15g}"


@dataclass(frozen=True)
class Words:
    """What texts a column has. n_distinct, n_cells: counts without the missing ones. top, counts: the most frequent
    texts (equally frequent ones in the order of the alphabet) and how often they occur.
    """

    n_distinct: int
    n_cells: int
    top: tuple[str, ...]
    counts: tuple[int, ...]

    @property
    def share(self) -> float:
        return self.n_distinct / max(self.n_cells, 1)


def count_words(texts: Any) -> Words:
    """Count tidy Arrow strings; empty ones are missing."""
    counted = texts.drop_null().value_counts()
    table = pa.table({"text": counted.field("values"), "n": counted.field("counts")})
    table = table.filter(pc.not_equal(table["text"], ""))
    top = table.take(pc.select_k_unstable(table, N_TOP, [("n", "descending"), ("text", "ascending")]))
    n_cells = pc.sum(table["n"]).as_py() or 0
    return Words(len(table), n_cells, tuple(top["text"].to_pylist()), tuple(top["n"].to_pylist()))


def are_codes(words: Words) -> bool:
    """Whether the most frequent texts are mostly digits, as accounts and telephones are."""
    return all(2 * sum(map(str.isdigit, text)) > len(text.replace(" ", "")) for text in words.top)


def is_id_name(name: str) -> bool:
    """Whether a column is called as ids are."""
    return bool(_ID_NAME.search(name) or _ID_END.search(name))


def is_label_name(name: str) -> bool:
    """Whether a column is called as labels are."""
    return bool(_LABEL_NAME.match(name.strip()))
