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
from soel.images.extractors import DEFAULT, SMALLEST_SIDE, Extractor, cache_folder, has_patches, open_extractor
from soel.images.image_items import PICTURE_LIST, PictureSource, describe, known_labels
from soel.images.source import Reading, open_source
from soel.images.views import SeenRegion, View, choose_shape, open_view
from soel.records import BESIDE
from soel.tables.ids import check_ids
from soel.tables.rows import read_rows, write_rows
from soel.types import UNLABELLED, Floats, Progress

PATCH_CHOICES = ("auto", "yes", "no")
OBLONG = 1.15  # sides in this proportion: the square in the middle loses an eighth of the picture
N_JUDGED = 32  # pictures, from all over the source, whose size says whether and how places are looked at
Spread = Callable[[PictureSource, Mapping[str, Any]], Elsewhere]  # of the pictures, and how their extractor is opened


@dataclass(frozen=True)
class MediaOptions:
    """How pictures become a pool. path_column: the column of a table that names the files.

    normal, labels: what is known beforehand, see `known_labels`. progress: told of (done, total) pictures.
    scanned: told of the files that were looked at, before that (default: progress is). patches: whether places are
    looked at beside the whole picture; 'auto' does so for pictures, not frames, that are large enough for it.
    resolution: pixels along the shorter side at which places are looked at; None takes the pictures' own. region: the
    part of each picture that is judged, a mask's file or 'left,top,width,height'. view: shape and region as they were
    written down, where they are known.
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
    region: str | None = None
    view: Mapping[str, Any] | None = None


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
    extractor, sizes = open_extractor(media.extractor), _sizes(source)
    looks = _looks_at_places(source, extractor, media, sizes)
    view = media.view or (_choose_view(sizes, media) if looks else None)
    how = {"extractor": media.extractor, "view": view}
    extractor = open_for(how)
    elsewhere = None if spread is None else spread(source, how)
    features = extract(source, extractor, cache_folder(), media.progress, elsewhere)
    skipped = (*source.skipped, *features.faulty)
    if skipped and media.reading.strict:
        raise DataError(f"{len(skipped)} of the files cannot be read: {describe(skipped)}. No session was started.")
    path = folder / f"{source.name}{PICTURE_LIST}"
    _write_items(path, source, features, labels)
    paths, base = getattr(source, "paths", None), data if data.is_dir() else data.parent
    items = [source.items[row] for row in features.rows]
    note = how | {
        "data": str(data.resolve()),
        "path_column": media.path_column,
        "id_column": id_column,
        "reading": asdict(media.reading),
        "fingerprint": extractor.fingerprint,
        "paths": None if paths is None else [os.path.relpath(paths[row], base) for row in features.rows],
        "grid": asdict(extractor.grid) if isinstance(extractor, View) else None,
        "sizes": sizes,
        "moments": None if any(item.time is None for item in items) else [(item.clip, item.time) for item in items],
        "skipped": [asdict(file) for file in skipped],
    }
    known, written = None if labels is None else "label", json.dumps(note).encode()  # ASCII: names need not be text
    return PicturePool(path, known, features.matrix, written, id_column is not None, features.patches)


def open_for(note: Mapping[str, Any]) -> Extractor:
    """The extractor of a session's pictures, with the view by which it looks at places, if it does."""
    extractor, view = open_extractor(note["extractor"]), note["view"]
    return extractor if view is None else open_view(extractor, view["shape"], view["region"])


def _choose_view(sizes: Sequence[tuple[int, int]], media: MediaOptions) -> dict[str, Any]:
    """Shape and region by which places are looked at, as they are written down."""
    usual = median(height for height, _ in sizes), median(width for _, width in sizes)
    region = None if media.region is None else SeenRegion.read(media.region, usual)
    top, left, bottom, right = (region or SeenRegion()).frame
    parts = [(height * (bottom - top), width * (right - left)) for height, width in sizes]
    return {"shape": choose_shape(parts, media.resolution), "region": None if region is None else asdict(region)}


def _sizes(source: PictureSource) -> list[tuple[int, int]]:
    """Height and width of some pictures, from all over the source."""
    n = len(source.items)
    rows = sorted({at * n // min(N_JUDGED, n) for at in range(min(N_JUDGED, n))})
    found = [picture.shape[:2] for picture in source.read(rows) if not isinstance(picture, DataError)]
    if not found:
        raise DataError(f"None of {len(rows)} pictures of {source.name} can be decoded. Check the files.")
    return [(height, width) for height, width in found]


def _looks_at_places(
    source: PictureSource, extractor: Extractor, media: MediaOptions, sizes: Sequence[tuple[int, int]]
) -> bool:
    """Whether patches are taken: as it is said, or by the size of pictures."""
    wanted = media.patches
    if wanted not in PATCH_CHOICES:
        raise ConfigError(f"Patches are one of {', '.join(PATCH_CHOICES)}, got {wanted!r}.")
    asked = [name for name in ("resolution", "region") if getattr(media, name) is not None]
    if asked and wanted == "no":
        raise ConfigError(f"<<{asked[0]}>> is of the places that are looked at; leave <<patches=no>> out.")
    if (wanted == "yes" or asked) and not has_patches(extractor):
        raise ConfigError(f"The extractor {extractor.name} has no middle layers to see places with. Choose another.")
    if wanted != "auto" or asked:
        return wanted != "no"
    if source.items[0].time is not None or not has_patches(extractor):
        return False
    return median(min(size) for size in sizes) >= SMALLEST_SIDE


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
