"""What a source of pictures offers: items with ids from their content, the pictures, and known labels."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soel.checks import check_labels
from soel.errors import DataError, LabelError
from soel.files import parse_json
from soel.tables.rows import read_rows
from soel.types import UNLABELLED

Picture = NDArray[np.uint8]
DIGITS = 16
N_SHOWN = 5
Codes = list[int]

PICTURE_LIST = ".items.csv"  # what follows the name of pictures where a session lists them for itself


@dataclass(frozen=True)
class MediaItem:
    """One picture. name: where it stands, for people. category: its folder or class, where there is one.

    clip, frame, time: for a frame, the clip it belongs to, its number in it and its seconds since the start.
    """

    id: str
    name: str
    category: str = ""
    clip: str = ""
    frame: int | None = None
    time: float | None = None


@dataclass(frozen=True)
class Skipped:
    """A file that was left out, and why."""

    name: str
    reason: str


class PictureSource(Protocol):
    """Pictures in a fixed order. `read` may be called from several threads at once.

    What cannot be decoded comes as the error that says why, in its place.
    """

    @property
    def name(self) -> str:
        """What the source is called."""

    @property
    def items(self) -> Sequence[MediaItem]:
        """All items, in order."""

    @property
    def skipped(self) -> Sequence[Skipped]:
        """Files that were left out."""

    def read(self, rows: Sequence[int]) -> Iterator[Picture | DataError]:
        """The pictures (H, W, 3) of these rows, in order."""


def number_ids(digests: Iterable[str]) -> list[str]:
    """Ids from content: the digest and the number of its occurrence, so that equal pictures stay apart."""
    seen: Counter[str] = Counter()
    ids = []
    for digest in digests:
        ids.append(f"{digest}-{seen[digest]}")
        seen[digest] += 1
    return ids


def digest_of(content: Any) -> str:
    """A short digest of bytes."""
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def fingerprint(items: Sequence[MediaItem]) -> str:
    """Of all content in its order: ids say what is in each picture."""
    return hashlib.sha256("\n".join(item.id for item in items).encode()).hexdigest()


def check_name(name: str) -> None:
    """Refuse a file whose name is no text: it could not be written into any list of items."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError("its name is no UTF-8 text; rename it") from None


def leave_out(name: str, error: BaseException) -> Skipped:
    """A file that is left out, under a name that can be written."""
    return Skipped(name.encode(errors="backslashreplace").decode(), reason(error))


def describe(skipped: Sequence[Skipped]) -> str:
    """The first few of these files, in words."""
    shown = "; ".join(f"{file.name} ({file.reason})" for file in skipped[:N_SHOWN])
    return shown + (f"; and {len(skipped) - N_SHOWN} more" if len(skipped) > N_SHOWN else "")


def reason(error: BaseException) -> str:
    """The first line of an error, short enough for a summary."""
    return (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")


def known_labels(items: Sequence[MediaItem], normal: str | None = None, file: Path | None = None) -> Codes | None:
    """1, 0 or -1 for each item; None where nothing is known.

    normal: the folder or class whose items are normal, all others being anomalies. file: a CSV with the columns
    name (or id) and label, or a JSON object with a string of 0 and 1 for each clip. Classes that are 0 and 1
    speak for themselves.
    """
    if file is not None:
        return _from_clips(items, file) if file.suffix.lower() == ".json" else _from_table(items, file)
    categories = {item.category for item in items}
    if normal is not None:
        if normal not in categories:
            shown = ", ".join(sorted(categories)[:10])
            raise LabelError(f"No item is in the folder or class {normal!r}. There are: {shown or 'none'}.")
        return [int(item.category != normal) for item in items]
    return [int(item.category) for item in items] if categories <= {"0", "1"} else None


def _from_table(items: Sequence[MediaItem], file: Path) -> Codes:
    rows = read_rows(file)
    if not rows or "label" not in rows[0] or not {"name", "id"} & set(rows[0]):
        raise LabelError(f"{file.name} needs the columns 'name' (or 'id') and 'label'.")
    key = "id" if "id" in rows[0] else "name"
    codes = check_labels([row["label"] for row in rows], len(rows)).tolist()
    by_key: Mapping[str, int] = dict(zip((row[key] for row in rows), codes, strict=True))
    found = [by_key.get(getattr(item, key), UNLABELLED) for item in items]
    if set(found) == {UNLABELLED}:
        raise LabelError(f"{file.name} names none of the items, such as {getattr(items[0], key)!r}.")
    return found


def _from_clips(items: Sequence[MediaItem], file: Path) -> Codes:
    try:
        strings = {str(clip): str(codes) for clip, codes in parse_json(file.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError) as error:
        raise LabelError(f"{file.name} is no JSON object of clips and their labels ({error}).") from error
    return [_at(item, strings) for item in items]


def _at(item: MediaItem, strings: Mapping[str, str]) -> int:
    codes = strings.get(item.clip) or strings.get(Path(item.clip).stem)
    frame = item.frame
    if codes is None or frame is None or frame >= len(codes):
        return UNLABELLED
    return int(check_labels([codes[frame]], 1)[0])
