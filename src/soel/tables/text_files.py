"""The bytes of a text file: unpacked within a limit, in an encoding that is found out or told."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from soel.errors import DataError
from soel.tables.arrow import pa
from soel.tables.limits import FAULTS, reason

PACKED = (".gz", ".bz2", ".zst", ".zip")
_CHUNK = 1 << 20
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
    is_wide = encoding.startswith(("utf-16", "utf-32"))
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
    with unpacking(path, limit) if is_packed(path) else path.open("rb") as file:
        yield file


@contextmanager
def unpacking(path: Path, limit: int) -> Iterator[Unpacking]:
    """A packed file, to be read piece by piece as if it were not packed."""
    with _refusing(path.name):
        opened = _open_unpacked(path)
        file = opened.__enter__()
    try:
        yield Unpacking(file, path.name, limit)
    finally:
        opened.__exit__(None, None, None)


class Unpacking(io.RawIOBase):
    """The bytes of a packed file; whoever reads beyond the limit is refused."""

    def __init__(self, file: IO[bytes], name: str, limit: int) -> None:
        self._file, self._name, self._limit, self._n_read = file, name, limit, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        with _refusing(self._name):
            content = bytes(self._file.read(size))
        self._n_read += len(content)
        if self._n_read > self._limit:
            raise DataError(
                f"{self._name} has more than {self._limit:,} bytes when it is unpacked. Unpack it yourself, or raise "
                "the limit with <<max-unpacked>>."
            )
        return content


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


def check_encoding(name: str) -> str:
    """An encoding by its name, as Python knows it."""
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise DataError(
            f"There is no encoding {name!r}. Choose one such as utf-8, utf-16, latin-1, windows-1252."
        ) from error


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
def _open_unpacked(path: Path) -> Iterator[IO[bytes] | Any]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.open(path, "rb") as file:
            yield file
    elif suffix == ".bz2":
        with bz2.open(path, "rb") as file:
            yield file
    elif suffix == ".zst":
        with pa.input_stream(str(path), compression="zstd") as file:
            yield file
    else:
        with zipfile.ZipFile(path) as archive, archive.open(_member(path)) as file:
            yield file


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """A damaged archive is the file's fault, in one line."""
    try:
        yield
    except (*FAULTS, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, DataError | FileNotFoundError | PermissionError):
            raise
        raise DataError(f"{name} cannot be unpacked: {reason(error)}. Pack it again.") from error
