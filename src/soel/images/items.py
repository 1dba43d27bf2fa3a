"""What a source of pictures offers: items with ids from their content, and the pictures themselves."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError

Picture = NDArray[np.uint8]
DIGITS = 16
N_SHOWN = 5


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


class Source(Protocol):
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
