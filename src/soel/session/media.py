"""What people want to see of a session's pictures: thumbnails, the items around one in time, those that look alike."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from soel.assess.threshold import parse_threshold
from soel.detect.detector import PlaceDetector
from soel.errors import DataError, SessionError
from soel.images.decode import ImageFiles, load_thumbnail, shrink
from soel.images.grids import Grid
from soel.images.image_items import MediaItem, PictureSource
from soel.images.maps import MappedPicture, ScoredPicture, draw_overlay, write_heat_maps
from soel.images.source import Reading, open_source
from soel.numeric import squares_to
from soel.session import Session, SessionFolder
from soel.session.item_tables import read_encoder
from soel.session.pictures import read_new_pictures
from soel.session.rounds import ModelRef
from soel.tables.frame import as_frame
from soel.tables.rows import read_rows
from soel.types import Floats, Rows


@dataclass(frozen=True)
class MediaPart:
    """The pictures that came with one pool. data: where they lie now, if that is not where the session found them."""

    folder: SessionFolder
    data: Path | None = None

    @cached_property
    def items(self) -> tuple[MediaItem, ...]:
        """All of them, in the order of the list that was kept."""
        rows = read_rows(self.folder.source)
        return tuple(
            MediaItem(row["id"], row["name"], row.get("category", ""), row.get("clip", ""), None, _time(row))
            for row in rows
        )

    @cached_property
    def source(self) -> PictureSource:
        """The pictures themselves; files are not digested again."""
        note = self.folder.media_note
        place = Path(self.data or note["data"])
        if not place.exists():
            raise SessionError(f"The pictures are no longer at {place}. Bring them back, or say where they are now.")
        if note["paths"] is None:
            return open_source(place, Reading(**note["reading"]))
        base = place if place.is_dir() else place.parent
        return ImageFiles(place.name, self.items, (), tuple(base / path for path in note["paths"]))

    def picture(self, row: int) -> np.ndarray:
        """The picture of one of the items."""
        item = self.items[row]
        if item.id not in self._rows:
            raise SessionError(f"The picture of {item.id} is not where the session found it. Restore the files.")
        picture = next(iter(self.source.read([self._rows[item.id]])))
        if isinstance(picture, DataError):
            raise SessionError(f"The picture of {item.id} cannot be read: {picture}. Restore the file.")
        return picture

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {item.id: row for row, item in enumerate(self.source.items)}


@dataclass(frozen=True)
class SessionMedia:
    """The pictures of a session. data: where those that it began with lie now, if that is elsewhere."""

    folder: SessionFolder
    data: Path | None = None

    @property
    def kind(self) -> str:
        """'video' for frames of clips, else 'image'."""
        return "video" if self.items[0].time is not None else "image"

    def thumbnail(self, item: str, size: int = 256) -> bytes:
        """A JPEG with no side longer than `size`; made once, then read from the session's folder."""
        number, row = self.folder.rows[self._row_of[item]].tolist()
        part = self._parts[number]
        return load_thumbnail(part.folder.home / "thumbnails", item, size, lambda: part.picture(row))

    @property
    def grid(self) -> Grid:
        """Where the places of a map lie in a picture."""
        return self.folder.grid

    def mapped(self, item: str, size: int, values: Floats) -> bytes:
        """The picture as PNG with no side longer than `size`, its map (P,) drawn over it."""
        return draw_overlay(shrink(self.picture(item), size), values, self.grid)

    def picture(self, item: str) -> np.ndarray:
        """The picture (H, W, 3) itself."""
        number, row = self.folder.rows[self._row_of[item]].tolist()
        return self._parts[number].picture(row)

    def items_around(self, item: str, seconds: float = 2.0) -> list[tuple[float, str]]:
        """The items of the same clip within so many seconds, in order, with the seconds before or after."""
        at = self._row_of[item]
        centre, part = self.items[at], int(self.folder.rows[at, 0])
        if centre.time is None:
            return []
        clip, reach = self._clips[part, centre.clip], seconds + 1e-9
        first, last = bisect_left(clip, (centre.time - reach, "")), bisect_right(clip, (centre.time + reach, "~"))
        return [(time - centre.time, other) for time, other in clip[first:last]]

    def nearest(self, item: str, among: Collection[str], k: int = 3) -> list[str]:
        """The k items of `among` whose features are nearest, nearest first."""
        rows = np.array([self._row_of[other] for other in among], np.int64)
        return [self.folder.ids[row] for row in nearest(self.folder.pool, self._row_of[item], rows, k)]

    @cached_property
    def items(self) -> tuple[MediaItem, ...]:
        """The session's items, in its order and under its ids, from its own lists."""
        places = zip(self.folder.ids, self.folder.rows.tolist(), strict=True)
        return tuple(replace(self._parts[part].items[row], id=item) for item, (part, row) in places)

    @cached_property
    def _parts(self) -> dict[int, MediaPart]:
        numbers = np.unique(self.folder.rows[:, 0]).tolist()
        return {number: MediaPart(self.folder.part(number), self.data if number == 1 else None) for number in numbers}

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.folder.ids)}

    @cached_property
    def _clips(self) -> Mapping[tuple[int, str], list[tuple[float, str]]]:
        """The items of each clip by time; clips of one name that came at different times are different ones."""
        clips: dict[tuple[int, str], list[tuple[float, str]]] = {}
        for item, part in zip(self.items, self.folder.rows[:, 0].tolist(), strict=True):
            if item.time is not None:
                clips.setdefault((part, item.clip), []).append((item.time, item.id))
        return {clip: sorted(items) for clip, items in clips.items()}


def open_media(folder: SessionFolder, data: Path | None = None) -> SessionMedia | None:
    """The pictures of a session, or None for a session on a table."""
    return SessionMedia(folder, data) if folder.has_pictures else None


def _time(row: dict[str, str]) -> float | None:
    return float(row["time"]) if row.get("time") else None


def nearest(matrix: Floats, row: int, among: Rows, k: int) -> Rows:
    """The k rows of `among` nearest to `row`, nearest first; the row itself is never one of them."""
    among = among[among != row]
    distances = squares_to(np.asarray(matrix[among], np.float64), np.asarray(matrix[row], np.float64))
    return among[np.argsort(distances, kind="stable")[:k]]


def write_maps(session: Session, data: str | Path | None, out: Path, threshold: str | None = None) -> dict[str, int]:
    """Maps of all alarms into the folder `out`, the most anomalous first; returns how many maps and boxes there are."""
    if not session.folder.has_pictures or session.folder.patches is None:
        raise SessionError(
            "Maps are drawn of pictures whose places are looked at: start a session with <<patches=yes>>."
        )
    rule = parse_threshold(threshold or session.config.threshold)
    _, model = session.fitted(threshold if rule.count(0) is None else None)
    pictures = _own(session, model) if data is None else _new(session, model, Path(data))
    order = np.argsort(-pictures.scores, kind="stable")
    n_alarms = rule.count(len(order))
    alarms = order[model.alarms(pictures.scores)[order]] if n_alarms is None else order[:n_alarms]
    detector, grid = find_patches(model), session.folder.grid
    rest = [pictures.scored(row) for row in order if row not in set(alarms.tolist())]
    return write_heat_maps(Path(out), (pictures.mapped(row, detector, grid) for row in alarms), rest)


@dataclass(frozen=True)
class _Scored:
    """Pictures with their scores (n,) and patches (n, P, D). picture: reads one of them."""

    items: Sequence[MediaItem]
    scores: Floats
    patches: Floats
    picture: Callable[[int], np.ndarray]

    def scored(self, row: int) -> ScoredPicture:
        """One of them."""
        return ScoredPicture(self.items[row].name, self.items[row].id, float(self.scores[row]))

    def mapped(self, row: int, detector: PlaceDetector, grid: Grid) -> MappedPicture:
        """One of them with its map."""
        values = detector.maps(self.patches[[row]])[0] / detector.limit
        return MappedPicture(**vars(self.scored(row)), picture=self.picture(row), values=values, grid=grid)


@dataclass
class SessionMaps:
    """Maps of a session's own pictures, by the newest model: of the last fit, or before the first label."""

    session: Session

    @property
    def has_any(self) -> bool:
        """Whether the session looks at places, and has a model that does."""
        return self.session.folder.patches is not None and self._newest() is not None

    def of(self, item: str) -> Floats | None:
        """The map (P,) of a picture in units of the limit; None where there is none."""
        patches, detector = self.session.folder.patches, self._detector()
        if patches is None or detector is None:
            return None
        row = self.session.folder.ids.index(item)
        return np.asarray(detector.maps(patches[[row]])[0] / detector.limit)

    def _newest(self) -> ModelRef | None:
        state = self.session.state
        return state.warm_up if state.fit is None else state.fit.model

    def _detector(self) -> PlaceDetector | None:
        ref = self._newest()
        part = None if ref is None else self.session.load_model(ref).patches
        return None if part is None or not isinstance(part.detector, PlaceDetector) else part.detector


def find_patches(model: Any) -> PlaceDetector:
    """The part of a fitted model that looks at places."""
    part = model.patches
    if part is None or not isinstance(part.detector, PlaceDetector):
        raise SessionError("The last fit did not look at places; fit again.")
    return part.detector


def _own(session: Session, model: Any) -> _Scored:
    media, patches = open_media(session.folder), session.folder.patches
    assert media is not None
    assert patches is not None
    return _Scored(media.items, session.pool_scores(model), patches, lambda row: media.picture(media.items[row].id))


def _new(session: Session, model: Any, data: Path) -> _Scored:
    new = read_new_pictures(session.folder.path, data)
    assert new.patches is not None  # as the session's own
    scores = model.score(read_encoder(session.folder).encode(as_frame(new.features)), new.patches)
    return _Scored(new.items, scores, new.patches, new.picture)
