"""What is refused of a file: damage, names that cannot be, and more than it may hold, counted before it is taken."""

from __future__ import annotations

import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from soel.errors import DataError, SchemaError

# Arrow's errors are of these kinds; a file that claims more memory than there is counts among them.
_PACKED = (zipfile.BadZipFile, zlib.error, EOFError)
FAULTS = (ValueError, LookupError, OSError, MemoryError, NotImplementedError, TypeError, RuntimeError, *_PACKED)
_LONGEST = 200


def reason(error: BaseException) -> str:
    """Why a file cannot be read: the first line of an error, with control characters made visible."""
    text = (str(error) or type(error).__name__).splitlines()[0][:_LONGEST].rstrip(".")
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    obeyed = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character.encode("unicode_escape").decode("ascii") if obeyed else character


def check_distinct(file: str, names: Iterable[str]) -> None:
    """Refuse columns that share a name."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise SchemaError(
            f"Columns of {file} share a name: {', '.join(map(repr, repeated))}. Give each column its own."
        )


def check_header(file: str, names: list[str]) -> None:
    """Refuse a first line that holds no names, or the same name twice."""
    if all(_is_number(name) for name in names):
        raise DataError(
            f"The first line of {file} holds numbers ({', '.join(names)[:60]!r}), not column names. "
            "Add a line with a name for each column."
        )
    check_distinct(file, [name for name in names if name])
    if "" in names:
        raise SchemaError(
            f"Column {names.index('') + 1} of {file} has no name. Name it in the first line, "
            "or remove it if it only numbers the rows."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def reading(file: str, advice: str) -> Iterator[None]:
    """Say in one line why a file cannot be read as a table."""
    try:
        yield
    except DataError:
        raise
    except FAULTS as error:
        raise not_a_table(file, error, advice) from error


def not_a_table(file: str, error: Exception, advice: str) -> DataError:
    """What to raise for a file that Arrow cannot read."""
    return DataError(f"{file} cannot be read as a table: {reason(error)}. {advice}.")


def check_known(name: str, wanted: Collection[str], columns: Sequence[str]) -> None:
    """Refuse names of columns that a file does not have."""
    known = set(columns)
    unknown = [column for column in wanted if column not in known]
    if unknown:
        shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
        raise SchemaError(f"{name} has no column {', '.join(map(repr, unknown))}. Choose among its columns: {shown}.")


class Budget:
    """Counts bytes, and refuses a file that has more of them than the limit."""

    def __init__(self, name: str, limit: int) -> None:
        self._name, self._limit, self._n_taken = name, limit, 0

    def take(self, n_bytes: int) -> None:
        self._n_taken += n_bytes
        if self._n_taken > self._limit:
            raise too_large(self._name, self._limit)


def too_large(name: str, limit: int) -> DataError:
    """What to raise for a file beyond the limit."""
    return DataError(
        f"{name} has more than {limit:,} bytes when it is unpacked. Unpack it yourself, or raise the limit with "
        "<<max-unpacked>>."
    )


@contextmanager
def enough_memory(name: str) -> Iterator[None]:
    """Say what a file needs too much memory for."""
    try:
        yield
    except MemoryError as error:
        raise DataError(
            f"{name} takes more memory than there is. Give fewer rows or columns, or Parquet with more rows than the "
            "pool, which is read in parts."
        ) from error
