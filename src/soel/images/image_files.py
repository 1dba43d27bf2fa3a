"""Pictures that lie as files: a folder of any depth, numbered frames, or a list of paths."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from soel.errors import DataError
from soel.images.decode import SUFFIXES, check_header, load_picture
from soel.images.image_items import DIGITS, MediaItem, Picture, Skipped, check_name, leave_out, number_ids, reason

Scanned = Callable[[int, int], None]
Place = tuple[str, int | None, float | None]
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class ImageFiles:
    """Files with one picture each."""

    name: str
    items: tuple[MediaItem, ...]
    skipped: tuple[Skipped, ...]
    paths: tuple[Path, ...]

    def read(self, rows: Sequence[int]) -> Iterator[Picture | DataError]:
        """The pictures of these rows."""
        for row in rows:
            yield _load(self.paths[row])


def image_folder(
    folder: Path, frame_rate: float | None = None, every: int = 1, scanned: Scanned | None = None
) -> ImageFiles:
    """All pictures below a folder. With a frame rate, the pictures of each folder are the frames of a clip."""
    paths = sorted((p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()), key=_natural)
    if not paths:
        raise DataError(f"{folder} holds no pictures ({', '.join(sorted(SUFFIXES))}). Give a folder that does.")
    if frame_rate is not None:
        paths = _thin(paths, every)
    names = [path.relative_to(folder).as_posix() for path in paths]
    return _scan(folder.name, paths, names, frame_rate, every, scanned)


def image_file(path: Path, scanned: Scanned | None = None) -> ImageFiles:
    """One picture."""
    return _scan(path.stem, [path], [path.name], None, 1, scanned)


def image_list(name: str, paths: Sequence[Path], scanned: Scanned | None = None) -> ImageFiles:
    """Pictures by their paths, in the order given."""
    return _scan(name, paths, [str(path) for path in paths], None, 1, scanned)


def _scan(
    name: str, paths: Sequence[Path], names: Sequence[str], rate: float | None, every: int, scanned: Scanned | None
) -> ImageFiles:
    """Look at every header and digest every file, once."""
    kept: list[tuple[Path, str, Place]] = []
    digests, skipped = [], []
    for at, found in enumerate(zip(paths, names, _places(paths, rate, every), strict=True)):
        try:
            check_name(found[1])
            check_header(found[0])
            digests.append(_digest(found[0]))
            kept.append(found)
        except (DataError, OSError) as error:
            skipped.append(leave_out(found[1], error))
        if scanned is not None:
            scanned(at + 1, len(paths))
    items = [
        MediaItem(item, shown, _top_folder(shown), *place)
        for item, (_, shown, place) in zip(number_ids(digests), kept, strict=True)
    ]
    return ImageFiles(name, tuple(items), tuple(skipped), tuple(path for path, _, _ in kept))


def _top_folder(name: str) -> str:
    return name.split("/")[0] if "/" in name and not name.startswith("/") else ""


def _places(paths: Sequence[Path], rate: float | None, every: int) -> list[Place]:
    """Clip, frame and time of each path; nothing without a frame rate."""
    if rate is None:
        return [("", None, None)] * len(paths)
    counts: dict[Path, int] = {}
    places: list[Place] = []
    for path in paths:
        number = counts.get(path.parent, 0)
        counts[path.parent] = number + 1
        places.append((path.parent.name, number * every, number * every / rate))
    return places


def _thin(paths: Sequence[Path], every: int) -> list[Path]:
    """Every n-th frame of each folder."""
    counts: dict[Path, int] = {}
    kept = []
    for path in paths:
        number = counts.get(path.parent, 0)
        counts[path.parent] = number + 1
        if number % every == 0:
            kept.append(path)
    return kept


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts frame 9 before frame 10."""
    parts = re.split(_NUMBER, str(path))
    numbers = [*re.findall(_NUMBER, str(path)), "0"]
    return [pair for part, number in zip(parts, numbers, strict=True) for pair in ((0, part), (int(number), ""))]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS]


def _load(path: Path) -> Picture | DataError:
    try:
        return load_picture(path)
    except DataError as error:
        return error
    except OSError as error:
        return DataError(reason(error))
