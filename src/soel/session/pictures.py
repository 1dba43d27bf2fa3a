"""Pictures of a session: other ones read as its own were, on this machine or on a cluster, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import floor, sqrt
from pathlib import Path
from statistics import median
from typing import Any

from soel.errors import DataError
from soel.images.extract import Batch, Elsewhere, compute_rows, extract
from soel.images.extractors import Extractor, cache_folder
from soel.images.image_items import MediaItem, Picture, PictureSource, Skipped, describe
from soel.images.image_rows import ImageRows
from soel.images.picture_pool import OBLONG, MediaOptions, PicturePool, open_for, open_pictures, read_picture_pool
from soel.images.source import Reading, is_media
from soel.images.views import MOST_EVER, Region
from soel.scoring.ray import Cluster, run_parts
from soel.session import SessionFolder
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
    top, left, bottom, right = Region().frame if region is None else region["frame"]
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
