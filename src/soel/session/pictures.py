"""Pictures of a session: thumbnails, neighbours and maps of its own, and others read as they were."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import floor, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from soel.detect.detector import PlaceDetector
from soel.errors import DataError, SessionError
from soel.images.decode import ImageFiles, load_thumbnail, shrink
from soel.images.extract import Batch, Elsewhere, compute_rows, extract
from soel.images.extractors import Extractor, cache_folder
from soel.images.grids import Grid
from soel.images.image_items import MediaItem, Picture, PictureSource, Skipped, describe
from soel.images.image_rows import ImageRows
from soel.images.maps import draw_overlay
from soel.images.picture_pool import OBLONG, MediaOptions, PicturePool, open_for, open_pictures, read_picture_pool
from soel.images.source import Reading, is_media, open_source
from soel.images.views import MOST_EVER, SeenRegion
from soel.numeric import squares_to
from soel.scoring.ray import Cluster, run_parts
from soel.session import Session, SessionFolder
from soel.tables.rows import read_rows
from soel.text import percent
from soel.types import Counted, Floats, Progress, Rows

LARGER = 1.1  # times the sides that are looked at: such a picture is said to be shrunk
PART_PICTURES = 512  # that one process of a cluster takes at once: whole batches


@dataclass(frozen=True)
class NewPictures:
    """Pictures that are no part of the session. features: (n, d). patches: (n, P, D) where places are looked at.

    rows: (n,) their positions in the source. skipped: the files that could not be read, with the reason of each.
    """

    items: list[MediaItem]
    features: Floats
    patches: Floats | None
    source: PictureSource
    rows: Rows
    skipped: tuple[Skipped, ...]

    def picture(self, at: int) -> Picture:
        """One of the pictures (H, W, 3)."""
        found = next(iter(self.source.read([int(self.rows[at])])))
        if isinstance(found, DataError):
            raise found
        return found


def read_new_pictures(
    folder: Path, data: Path, progress: Progress | None = None, cluster: Cluster | None = None
) -> NewPictures:
    """Other pictures with their features and patches, by the extractor of the session in `folder`."""
    note = SessionFolder(folder).media_note
    media = MediaOptions(note["extractor"], Reading(**note["reading"]), note["path_column"])
    source, _ = open_pictures(data, None, None, replace(media, normal=None))
    extractor = open_for(note)
    if extractor.fingerprint != note["fingerprint"]:
        raise DataError(f"The extractor {media.extractor} is another one than the session began with. Bring that back.")
    elsewhere = None if cluster is None else on_cluster(cluster, source, note)
    features = extract(source, extractor, cache_folder(), progress, elsewhere)
    items = [source.items[row] for row in features.rows]
    skipped = (*source.skipped, *features.faulty)
    return NewPictures(items, features.matrix, features.patches, source, features.rows, skipped)


def on_cluster(cluster: Cluster, source: PictureSource, note: Mapping[str, Any]) -> Elsewhere:
    """What takes features of pictures on the machines of a cluster. note: how the extractor is opened there."""
    how = json.dumps({name: note[name] for name in ("extractor", "view")})

    def compute(rows: range) -> Iterator[Batch]:
        runs = [rows[at : at + PART_PICTURES] for at in range(0, len(rows), PART_PICTURES)]
        waiting, following = dict[int, Batch](), 0
        for part in run_parts(cluster, ExtractPart(source, how, runs), range(len(runs))):
            waiting[part.number] = part.batch
            while following in waiting:
                yield waiting.pop(following)
                following += 1

    return compute


@dataclass(frozen=True)
class ExtractedPart:
    """Features of a run of pictures."""

    number: int
    n_rows: int
    batch: Batch


@dataclass(frozen=True)
class ExtractPart:
    """Takes the features of one run of pictures after the other. It can be sent to another process.

    how: the JSON by which the extractor is opened there. runs: rows of the source.
    """

    source: PictureSource
    how: str
    runs: Sequence[range]

    def __call__(self, number: int, tell: Counted) -> ExtractedPart:
        """The run of this number. tell: is called with how many pictures were done."""
        rows = self.runs[number]
        batch = compute_rows(self.source, _open_once(self.how), rows)
        tell(len(rows))
        return ExtractedPart(number, len(rows), batch)


@lru_cache(maxsize=1)
def _open_once(how: str) -> Extractor:
    return open_for(json.loads(how))


def read_more_pictures(place: SessionFolder, data: Path, folder: Path, progress: Progress | None = None) -> PicturePool:
    """Other pictures in the way of the session's own, as a list of items and features to be added to them."""
    note = SessionFolder(place.path).media_note
    media = MediaOptions(
        note["extractor"],
        Reading(**note["reading"]),
        note["path_column"],
        progress=progress,
        patches="no" if note["view"] is None else "yes",
        view=note["view"],
    )
    if media.path_column is None and not is_media(data):
        raise DataError(f"{data} holds no pictures, and the session's items are pictures. Give a folder or clips.")
    found = read_picture_pool(data, note["id_column"], None, media, folder)
    if json.loads(found.note)["fingerprint"] != note["fingerprint"]:
        raise DataError(f"The extractor {media.extractor} is another one than the session began with. Bring that back.")
    return found


def find_session_images(folder: Path) -> ImageRows | None:
    """How the model of a session reads pictures, where it looks at places; None where it takes features or rows."""
    place = SessionFolder(folder)
    if not place.has_pictures:
        return None
    note = place.media_note
    return None if note["view"] is None else ImageRows((), note["extractor"], note["view"])


def media_summary(folder: Path) -> dict[str, str]:
    """What was chosen for the pictures of a session and what was left out, in sentences; empty for a table."""
    place = SessionFolder(folder)
    if not place.has_pictures:
        return {}
    note = place.media_note
    backbone = place.config.settings["backbone"]
    chosen = f"Features by {Path(note['extractor']).name}, backbone {backbone}."
    if backbone == "ntl-narrow":
        chosen += " There is no GPU here, so the narrow form was taken; <<profile=paper>> takes the full one."
    seen = median(min(size) / max(size) for size in note["sizes"])
    if note["view"] is not None:
        chosen += _about_view(note["sizes"], **note["view"])
    elif seen < 1 / OBLONG:
        chosen += f" Only the middle {percent(seen)} of a picture is looked at; <<patches=yes>> shows it whole."
    if note["view"] is None and note["moments"]:
        chosen += " Places in the frames are not looked at, so no map shows where; <<patches=yes>> looks at them."
    summary = {"chosen": chosen}
    if note["skipped"]:
        skipped = [Skipped(**file) for file in note["skipped"]]
        summary["left_out"] = f"Left out, {len(skipped)} in all: {describe(skipped)}."
    return summary


def _about_view(sizes: Sequence[Sequence[int]], shape: Sequence[int], region: Mapping[str, Any] | None) -> str:
    """At which resolution places are looked at, and what that leaves out."""
    top, left, bottom, right = SeenRegion().frame if region is None else region["frame"]
    parts = [(height * (bottom - top), width * (right - left)) for height, width in sizes]
    told = f" Places are looked at in pictures of {shape[1]} x {shape[0]} pixels"
    told += "; <<patches=no>> leaves them out." if region is None else " within the region."
    n_larger = sum(height > LARGER * shape[0] or width > LARGER * shape[1] for height, width in parts)
    if not n_larger:
        return told
    told += f" {percent(n_larger / len(parts))} of the pictures are larger and were shrunk: small defects are lost."
    height, width = (median(part[axis] for part in parts) for axis in (0, 1))
    seen = shape[0] * shape[1]
    times = min(height * width, MOST_EVER) / seen
    if times > LARGER:
        much = "all" if height * width <= MOST_EVER else "more of"
        side = floor(min(height, width) * sqrt(times * seen / (height * width)))
        told += f" <<resolution={side}>> looks at {much} their pixels, in about {times:.1f} times the time."
    return told


@dataclass(frozen=True)
class MediaPart:
    """The pictures that came with one pool. data: where they lie now, if that is not where the session found them."""

    folder: SessionFolder
    data: Path | None = None

    @cached_property
    def items(self) -> tuple[MediaItem, ...]:
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
        return self.folder.grid

    def mapped(self, item: str, size: int, values: Floats) -> bytes:
        """The picture as PNG with no side longer than `size`, its map (P,) drawn over it."""
        return draw_overlay(shrink(self.picture(item), size), values, self.grid)

    def picture(self, item: str) -> np.ndarray:
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
        places = self.folder.parts.items()
        return {number: MediaPart(part, self.data if number == 1 else None) for number, part in places}

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


@dataclass
class SessionMaps:
    """Maps of a session's own pictures, by the newest model: of the last fit, or before the first label."""

    session: Session

    @property
    def has_any(self) -> bool:
        """Whether the session looks at places, and has a model that does."""
        return self.session.folder.patches is not None and self.session.state.newest_model is not None

    def of(self, item: str) -> Floats | None:
        """The map (P,) of a picture in units of the limit; None where there is none."""
        patches, detector = self.session.folder.patches, self._detector()
        if patches is None or detector is None:
            return None
        row = self.session.folder.ids.index(item)
        return np.asarray(detector.maps(patches[[row]])[0] / detector.limit)

    def _detector(self) -> PlaceDetector | None:
        ref = self.session.state.newest_model
        part = None if ref is None else self.session.load_model(ref).patches
        return None if part is None or not isinstance(part.detector, PlaceDetector) else part.detector
