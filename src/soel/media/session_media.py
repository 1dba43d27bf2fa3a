"""What people want to see of a session's pictures: thumbnails, the items around one in time, those that look alike."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from soel.data.csv_cells import read_rows
from soel.errors import DataError, SessionError
from soel.features.image_files import ImageFiles
from soel.features.items import MediaItem, Source
from soel.features.neighbours import nearest
from soel.features.source import Reading, open_source
from soel.features.thumbnails import kept_thumbnail
from soel.media.picture_pool import MEDIA, read_note
from soel.session import SessionFolder


@dataclass(frozen=True)
class SessionMedia:
    """The pictures of a session. data: where they lie now, where that is not where the session found them."""

    folder: SessionFolder
    data: Path | None = None

    @property
    def kind(self) -> str:
        """'video' for frames of clips, else 'image'."""
        return "video" if self.items[0].time is not None else "image"

    def thumbnail(self, item: str, size: int = 256) -> bytes:
        """A JPEG with no side longer than `size`; made once, then read from the session's folder."""
        return kept_thumbnail(self.folder.path / "thumbnails", item, size, lambda: self._picture(item))

    def items_around(self, item: str, seconds: float = 2.0) -> list[tuple[float, str]]:
        """The items of the same clip within so many seconds, in order, with the seconds before or after."""
        centre = self.items[self._row_of[item]]
        if centre.time is None:
            return []
        clip, reach = self._clips[centre.clip], seconds + 1e-9
        first, last = bisect_left(clip, (centre.time - reach, "")), bisect_right(clip, (centre.time + reach, "~"))
        return [(time - centre.time, other) for time, other in clip[first:last]]

    def nearest(self, item: str, among: Collection[str], k: int = 3) -> list[str]:
        """The k items of `among` whose features are nearest, nearest first."""
        rows = np.array([self._row_of[other] for other in among], np.int64)
        return [self.folder.ids[row] for row in nearest(self.folder.pool, self._row_of[item], rows, k)]

    @cached_property
    def items(self) -> tuple[MediaItem, ...]:
        """The session's items, in its order, from its own list."""
        rows = read_rows(self.folder.source)
        return tuple(
            MediaItem(row["id"], row["name"], row.get("category", ""), row.get("clip", ""), None, _time(row))
            for row in rows
        )

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.folder.ids)}

    @cached_property
    def _clips(self) -> Mapping[str, list[tuple[float, str]]]:
        """The items of each clip by time."""
        clips: dict[str, list[tuple[float, str]]] = {}
        for item in self.items:
            if item.time is not None:
                clips.setdefault(item.clip, []).append((item.time, item.id))
        return {clip: sorted(items) for clip, items in clips.items()}

    @cached_property
    def source(self) -> Source:
        """The pictures themselves; files are not digested again."""
        note = read_note(self.folder.path)
        place = Path(self.data or note["data"])
        if not place.exists():
            raise SessionError(f"The pictures are no longer at {place}. Bring them back, or say where they are now.")
        if note["paths"] is None:
            return open_source(place, Reading(**note["reading"]))
        base = place if place.is_dir() else place.parent
        return ImageFiles(place.name, self.items, (), tuple(base / path for path in note["paths"]))

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {item.id: row for row, item in enumerate(self.source.items)}

    def _source_row(self, item: str) -> int:
        if item not in self._rows:
            raise SessionError(f"The picture of {item} is not where the session found it. Restore the files.")
        return self._rows[item]

    def _picture(self, item: str) -> np.ndarray:
        picture = next(iter(self.source.read([self._source_row(item)])))
        if isinstance(picture, DataError):
            raise SessionError(f"The picture of {item} cannot be read: {picture}. Restore the file.")
        return picture


def open_media(folder: SessionFolder, data: Path | None = None) -> SessionMedia | None:
    """The pictures of a session, or None for a session on a table."""
    return SessionMedia(folder, data) if (folder.path / MEDIA).exists() else None


def _time(row: dict[str, str]) -> float | None:
    return float(row["time"]) if row.get("time") else None
