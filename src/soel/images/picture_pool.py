"""Pictures as a pool: a folder, a file of arrays, clips, or a table that names files, each with its features."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from soel.errors import ConfigError, DataError, SchemaError
from soel.images.decode import image_list
from soel.images.extract import Elsewhere, Features, extract
from soel.images.extractors import DEFAULT, Extractor, cache_folder, open_extractor
from soel.images.image_items import PICTURE_LIST, MediaItem, PictureSource, Skipped, describe, known_labels
from soel.images.patches import DEPTH, SMALLEST_SIDE, has_patches, look_as_before
from soel.images.source import Reading, open_source
from soel.images.tiles import MOST_TILES, Tiles, count_tiles, open_tiles
from soel.records import BESIDE
from soel.tables.ids import check_ids
from soel.tables.rows import read_rows, write_rows
from soel.types import UNLABELLED, Floats, Progress

PATCH_CHOICES = ("auto", "yes", "no")
OBLONG = 1.15  # sides in this proportion: the square in the middle loses an eighth of the picture
N_JUDGED = 16  # pictures whose size says whether places are looked at
Spread = Callable[[PictureSource, Mapping[str, Any]], Elsewhere]  # of the pictures, and how their extractor is opened


@dataclass(frozen=True)
class MediaOptions:
    """How pictures become a pool. path_column: the column of a table that names the files.

    normal, labels: what is known beforehand, see `known_labels`. progress: told of (done, total) pictures.
    scanned: told of the files that were looked at, before that (default: progress is). patches: whether places are
    looked at beside the whole picture; 'auto' does so for pictures, not frames, that are large enough for it.
    resolution: pixels along the shorter side at which pictures are looked at in tiles; None takes the square in the
    middle. tiles: how many, down and across, and how far they overlap, where that is known. patch_depth: how many
    values a patch has, where that is known; None takes all that the extractor gives.
    """

    extractor: str = DEFAULT
    reading: Reading = field(default_factory=Reading)
    path_column: str | None = None
    normal: str | None = None
    labels: Path | None = None
    progress: Progress | None = field(default=None, metadata=BESIDE)
    scanned: Progress | None = field(default=None, metadata=BESIDE)
    patches: str = "auto"
    resolution: int | None = None
    tiles: Tiles | None = None
    patch_depth: int | None = None


@dataclass(frozen=True)
class PicturePool:
    """The pictures of a new session. path: the list of its items, a CSV. features: (N, d). patches: (N, P, D) or None.

    label_column: of the list, where labels are known. note: how to find the pictures again, for a file beside it.
    named: whether ids are names that the data give; else they follow from the content.
    """

    path: Path
    label_column: str | None
    features: Floats
    note: bytes
    named: bool
    patches: Floats | None = None


def read_picture_pool(
    data: Path,
    id_column: str | None,
    label_column: str | None,
    media: MediaOptions,
    folder: Path,
    spread: Spread | None = None,
) -> PicturePool:
    """Read pictures, take their features and write the list of them into `folder`.

    spread: what takes the features on other machines, None for this one.
    """
    source, labels = open_pictures(data, id_column, label_column, media)
    extractor = look_as_before(open_extractor(media.extractor), media.patch_depth)
    looks = _looks_at_places(source, extractor, media.patches)
    tiles = media.tiles or _choose_tiles(source, extractor.size, media.resolution, looks)
    extractor = extractor if tiles is None else open_tiles(extractor, tiles)
    how = {"extractor": media.extractor, "patch_depth": media.patch_depth, "tiles": tiles}
    elsewhere = None if spread is None else spread(source, how)
    features = extract(source, extractor, cache_folder(), media.progress, looks, elsewhere)
    skipped = (*source.skipped, *features.faulty)
    if skipped and media.reading.strict:
        raise DataError(f"{len(skipped)} of the files cannot be read: {describe(skipped)}. No session was started.")
    path = folder / f"{source.name}{PICTURE_LIST}"
    _write_items(path, source, features, labels)
    note = _note(data, replace(media, tiles=tiles), source, features, extractor, skipped, id_column)
    known = None if labels is None else "label"
    return PicturePool(path, known, features.matrix, note, id_column is not None, features.patches)


def open_for(note: Mapping[str, Any]) -> Extractor:
    """The extractor of a session's pictures, with its tiles; it looks at places as it did when the session began."""
    extractor = look_as_before(open_extractor(note["extractor"]), note["patch_depth"])
    return open_tiles(extractor, note["tiles"]) if note["tiles"] else extractor


def _choose_tiles(source: PictureSource, size: int, resolution: int | None, looks: bool) -> Tiles | None:
    """How many tiles pictures have at a resolution, by the usual shape of the first ones; None for their middle alone.

    Without a resolution it is the network's own, where places are looked at and a square in the middle would lose much.
    """
    if resolution is None and not looks:
        return None
    height, width = _usual_shape(source)
    length = max(height, width) / min(height, width)
    if resolution is None and not OBLONG < length <= MOST_TILES:
        return None
    return count_tiles(height, width, size, resolution or size)


def _usual_shape(source: PictureSource) -> tuple[float, float]:
    """Height and width of the first pictures, as most of them have it."""
    found = [each for each in source.read(range(min(N_JUDGED, len(source.items)))) if not isinstance(each, DataError)]
    if not found:
        raise DataError(f"None of the first pictures of {source.name} can be decoded. Check the files.")
    return median(picture.shape[0] for picture in found), median(picture.shape[1] for picture in found)


def _looks_at_places(source: PictureSource, extractor: Extractor, wanted: str) -> bool:
    """Whether patches are taken: as it is said, or by the first pictures."""
    if wanted not in PATCH_CHOICES:
        raise ConfigError(f"Patches are one of {', '.join(PATCH_CHOICES)}, got {wanted!r}.")
    if wanted == "yes" and not has_patches(extractor):
        raise ConfigError(f"The extractor {extractor.name} has no middle layers to see places with. Choose another.")
    if wanted != "auto":
        return wanted == "yes"
    if source.items[0].time is not None or not has_patches(extractor):
        return False
    pictures = source.read(range(min(N_JUDGED, len(source.items))))
    sides = [min(picture.shape[:2]) for picture in pictures if not isinstance(picture, DataError)]
    return bool(sides) and median(sides) >= SMALLEST_SIDE


def open_pictures(
    data: Path, id_column: str | None, label_column: str | None, media: MediaOptions
) -> tuple[PictureSource, list[int] | None]:
    """The pictures of a path, or those that the rows of a table name, with their known labels."""
    if media.path_column is None:
        source = open_source(data, media.reading, media.scanned or media.progress)
        return source, known_labels(source.items, media.normal, media.labels)
    return _from_path_column(data, media.path_column, id_column, label_column)


def _from_path_column(
    data: Path, path_column: str, id_column: str | None, label_column: str | None
) -> tuple[PictureSource, list[int] | None]:
    """Pictures that a CSV names, relative to its own folder; ids from a column or from the content."""
    rows = read_rows(data)
    missing = [name for name in (path_column, id_column, label_column) if name and rows and name not in rows[0]]
    if missing or not rows:
        raise SchemaError(
            f"{data.name} has no column {', '.join(missing) or path_column}, or no rows. Check its header."
        )
    paths = [data.parent / row[path_column] for row in rows]
    source = image_list(data.stem, paths)
    row_of = {str(path): row for path, row in zip(paths, rows, strict=True)}
    kept = [row_of[item.name] for item in source.items]
    ids = check_ids(id_column, [row[id_column] for row in kept]) if id_column else [item.id for item in source.items]
    items = [
        replace(item, id=str(given), name=row[path_column], category=row[label_column] if label_column else "")
        for item, given, row in zip(source.items, ids, kept, strict=True)
    ]
    source = replace(source, items=tuple(items))
    return source, known_labels(items) if label_column else None


def _write_items(path: Path, source: PictureSource, features: Features, labels: Sequence[int] | None) -> None:
    """The readable columns of the items: what differs between them, and nothing that is empty throughout."""
    items = [source.items[row] for row in features.rows]
    columns: dict[str, list[Any]] = {"id": [item.id for item in items], "name": [item.name for item in items]}
    for name in ("clip", "time") if labels is not None else ("category", "clip", "time"):
        values = [getattr(item, name) for item in items]
        if any(value not in ("", None) for value in values):
            columns[name] = values
    if labels is not None:
        columns["label"] = ["" if labels[row] == UNLABELLED else labels[row] for row in features.rows]
    write_rows(path, list(columns), zip(*columns.values(), strict=True))


def _note(
    data: Path,
    media: MediaOptions,
    source: PictureSource,
    features: Features,
    extractor: Extractor,
    skipped: Sequence[Skipped],
    id_column: str | None,
) -> bytes:
    """What is needed to find the pictures again, and what was left out."""
    paths = getattr(source, "paths", None)
    places = (
        None
        if paths is None
        else [os.path.relpath(paths[row], data if data.is_dir() else data.parent) for row in features.rows]
    )
    shape = _usual_shape(source)
    note = {
        "data": str(data.resolve()),
        "path_column": media.path_column,
        "id_column": id_column,
        "reading": asdict(media.reading),
        "extractor": media.extractor,
        "fingerprint": extractor.fingerprint,
        "patches": features.patches is not None,
        "patch_depth": DEPTH if features.patches is None else features.patches.shape[2],
        "paths": places,
        "tiles": media.tiles,
        "seen": None if media.tiles else min(shape) / max(shape),
        "moments": _moments([source.items[row] for row in features.rows]),
        "skipped": [asdict(file) for file in skipped],
    }
    return json.dumps(note).encode()  # ASCII: names of folders need not be text


def _moments(items: Sequence[MediaItem]) -> list[tuple[str, float]] | None:
    """The clip and the second of each frame; None where they are no frames."""
    moments = [(item.clip, item.time) for item in items if item.time is not None]
    return moments if len(moments) == len(items) else None
