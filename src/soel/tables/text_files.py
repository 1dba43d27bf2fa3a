"""The bytes of a text file: unpacked within a limit, in an encoding that is found out or told."""

from __future__ import annotations

import codecs
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from soel.errors import DataError
from soel.tables.arrow import pa
from soel.tables.limits import FAULTS, Budget, reason
from soel.tables.read_options import ReadOptions

_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
PACKED = (*_CODECS, ".zip")
WIDE = ("utf-16", "utf-32")
START_BYTES = _CHUNK = 1 << 20
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
GOOD_FOR_BAD = 4
_UNDEFINED = frozenset(b"\x81\x8d\x8f\x90\x9d")  # bytes that Windows-1252 does not have


def inner_suffix(path: Path) -> str:
    """The suffix that says the format: that of 'a.csv.gz' is '.csv'. A .zip file is asked for the name inside."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with _refusing(path.name):
            return Path(_member(path)).suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in PACKED else suffix


def is_packed(path: Path) -> bool:
    """Whether a file has to be unpacked first."""
    return path.suffix.lower() in PACKED


@contextmanager
def plain_file(path: Path, limit: int, encoding: str = "") -> Iterator[Path]:
    """A file that is not packed: this one, or a temporary copy, as UTF-8 where its lines end with several bytes."""
    is_wide = encoding.startswith(WIDE)
    if not is_packed(path) and not is_wide:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="soel-unpacked-") as folder, unpacking_or_plain(path, limit) as file:
        plain = Path(folder) / path.name
        with plain.open("wb") as out:
            decode = codecs.getincrementaldecoder(encoding)().decode if is_wide else None
            while chunk := file.read(_CHUNK):
                out.write(chunk if decode is None else decode(chunk).encode("utf-8"))
            if decode is not None:
                out.write(decode(b"", True).encode("utf-8"))
        yield plain


@contextmanager
def unpacking_or_plain(path: Path, limit: int) -> Iterator[Any]:
    """A file to be read piece by piece, whether it is packed or not."""
    if not is_packed(path):
        with path.open("rb") as plain:
            yield plain
        return
    with ExitStack() as stack:
        with _refusing(path.name):
            if path.suffix.lower() == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(path))
                file = stack.enter_context(archive.open(_member(path)))
            else:
                file = stack.enter_context(pa.input_stream(str(path), compression=_CODECS[path.suffix.lower()]))
        yield Unpacking(file, path.name, limit)


class Unpacking:
    """The bytes of a packed file; whoever reads beyond the limit is refused."""

    def __init__(self, file: Any, name: str, limit: int) -> None:
        self._file, self._name, self._budget = file, name, Budget(name, limit)

    def read(self, size: int) -> bytes:
        with _refusing(self._name):
            content = bytes(self._file.read(size))
        self._budget.take(len(content))
        return content


def encoding_of(name: str, start: bytes, options: ReadOptions) -> str:
    """The encoding that was asked for, else the one that the first START_BYTES say."""
    if not options.encoding:
        return guess_encoding(name, start, whole=len(start) < START_BYTES)
    try:
        return codecs.lookup(options.encoding).name
    except LookupError as error:
        raise DataError(
            f"There is no encoding {options.encoding!r}. Choose one such as utf-8, utf-16, latin-1, windows-1252."
        ) from error


def guess_encoding(name: str, content: bytes, whole: bool) -> str:
    """The encoding of a text: UTF-8, UTF-16 or UTF-32 with its mark, or one of the Western one-byte codes.

    whole: whether this is all of the file, so that its last letter is complete.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    if b"\0" in content[:_CHUNK]:
        raise DataError(
            f"{name} holds zero bytes: it is no text, or UTF-16 without its mark. Save it as UTF-8, or name the "
            "encoding, such as <<encoding=utf-16-le>>."
        )
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        if whole or error.end < len(content) or len(content) - error.start > 3:
            _check_damage(name, content, error.start)
            return _western(name, content)
    return "utf-8"


def _check_damage(name: str, content: bytes, first: int) -> None:
    """Refuse UTF-8 with a few damaged bytes: as a one-byte code its other letters would be read wrong.

    first: the first byte that is no UTF-8. Letters of other codes are hardly ever UTF-8 by accident.
    """
    text = content.decode("utf-8", "replace")
    n_bad = text.count("\ufffd")
    n_good = sum(not character.isascii() for character in text) - n_bad
    if n_good * GOOD_FOR_BAD > n_bad:
        line = content.count(b"\n", 0, first) + 1
        raise DataError(
            f"{name} is UTF-8 but for {n_bad} places, the first in line {line} (byte {first}, 0x{content[first]:02x}). "
            "Correct them, or name the encoding, such as <<encoding=windows-1252>>."
        )


def _western(name: str, content: bytes) -> str:
    odd = set(content) & set(range(0x80, 0xA0))
    if not odd:
        return "latin-1"
    if odd & _UNDEFINED:
        raise DataError(
            f"{name} is neither UTF-8 nor Windows-1252 text. Save it as UTF-8, or name its encoding with <<encoding>>."
        )
    return "windows-1252"


def _member(path: Path) -> str:
    """The one file in an archive."""
    with zipfile.ZipFile(path) as archive:
        names = [each for each in archive.namelist() if not each.endswith("/") and not each.startswith("__MACOSX/")]
    if len(names) != 1:
        shown = ", ".join(names[:5]) or "none"
        raise DataError(
            f"{path.name} holds {len(names)} files ({shown}). Pack one table, or unpack it and give the table."
        )
    return names[0]


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """A damaged archive is the file's fault, in one line."""
    try:
        yield
    except FAULTS as error:
        if isinstance(error, DataError | FileNotFoundError | PermissionError):
            raise
        raise DataError(f"{name} cannot be unpacked: {reason(error)}. Pack it again.") from error
