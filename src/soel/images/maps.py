"""Where in a picture something is unusual: maps as overlays, arrays and boxes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soel.files import replacing, write_whole
from soel.images.decode import image_library
from soel.images.grids import Grid
from soel.images.image_items import Picture
from soel.types import Booleans, Floats

FINE = 8  # points that a place is drawn with, along each side, where boxes are looked for
FIRST_SEEN, FULL = 0.85, 1.6  # times the limit: where colour begins, and where it is strongest
STRONGEST = 0.3  # of the colour's cover: the defect shows through, and the contour says where it is
THINNEST = 320  # pixels along the shorter side, up to which lines are one pixel thick
GAP = 3  # between what is beyond the limit and the line around it, in thicknesses of the line
LIGHT, DARK = (255, 255, 255), (0, 0, 0)  # of lines, side by side: one of them is seen on any picture
CATEGORY = {"id": 1, "name": "anomaly", "supercategory": "anomaly"}


@dataclass(frozen=True)
class Box:
    """A place beyond the limit, in pixels of the picture. peak: how many times the limit its worst point reaches."""

    x: int
    y: int
    width: int
    height: int
    peak: float


@dataclass(frozen=True)
class ScoredPicture:
    """A picture by what it is called."""

    name: str
    item: str
    score: float


@dataclass(frozen=True)
class MappedPicture(ScoredPicture):
    """A picture with its map. values: (P,) distances of places, in units of the limit. grid: where the places lie."""

    picture: Picture
    values: Floats
    grid: Grid

    @property
    def boxes(self) -> list[Box]:
        """What lies beyond the limit, the worst first."""
        return find_boxes(self.values, self.grid, *self.picture.shape[:2])


def find_boxes(values: Floats, grid: Grid, height: int, width: int) -> list[Box]:
    """The connected places of a map (P,) beyond the limit, as boxes in a picture of this size, the worst first."""
    from scipy.ndimage import find_objects, label

    fine = grid.enlarge(values[None], FINE * grid.down, FINE * grid.across)[0]
    numbered, _ = label(fine > 1)
    top, left, tall, wide = grid.seen(height, width)
    scale_y, scale_x, boxes = tall / fine.shape[0], wide / fine.shape[1], []
    for number, (down, across) in enumerate(find_objects(numbered), start=1):
        y, x = top + round(down.start * scale_y), left + round(across.start * scale_x)
        bottom, right = top + round(down.stop * scale_y), left + round(across.stop * scale_x)
        peak = float(fine[down, across][numbered[down, across] == number].max())
        boxes.append(Box(x, y, max(right - x, 1), max(bottom - y, 1), round(peak, 3)))
    return sorted(boxes, key=lambda box: -box.peak)


def draw_overlay(picture: Picture, values: Floats, grid: Grid) -> bytes:
    """The picture as PNG, unusual places in yellow to red over it, and a line around those beyond the limit."""
    pillow = image_library()
    top, left, tall, wide = grid.seen(*picture.shape[:2])
    enlarged = grid.enlarge(values[None], tall, wide)[0]
    heat = np.clip((enlarged - FIRST_SEEN) / (FULL - FIRST_SEEN), 0, 1)[..., None]
    colour = np.concatenate([np.full_like(heat, 255), 220 * (1 - heat), np.zeros_like(heat)], axis=2)
    drawn = picture.astype(np.float32)
    seen = drawn[top : top + tall, left : left + wide]
    seen += STRONGEST * np.sqrt(heat) * (heat > 0) * (colour - seen)
    _contour(seen, enlarged > 1, max(1, round(min(picture.shape[:2]) / THINNEST)))
    image = pillow.fromarray(np.clip(drawn, 0, 255).astype(np.uint8))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def write_heat_maps(
    folder: Path, pictures: Iterable[MappedPicture], rest: Sequence[ScoredPicture] = ()
) -> dict[str, int]:
    """Overlays (.png), arrays (.npy) and boxes (boxes.json, coco.json) of alarms; returns how many of each.

    rest: pictures without an alarm, which are in the sheet (sheet.csv) after the others. What an earlier sheet in the
    folder lists is removed.

    An array is the map on its own grid, in units of the limit: above 1 is more unusual than any place of most of the
    pool's unsuspected pictures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_earlier(folder)
    entries: list[dict[str, Any]] = []
    for number, mapped in enumerate(pictures, start=1):
        plain = re.sub(r"[^\w.-]+", "_", Path(mapped.name).stem)[:80]
        stem, boxes = f"{number:04d}-{plain}", mapped.boxes
        write_whole(folder / f"{stem}.png", draw_overlay(mapped.picture, mapped.values, mapped.grid))
        with replacing(folder / f"{stem}.npy") as file:
            np.save(
                file,
                np.asarray(mapped.values, np.float32).reshape(mapped.grid.down, mapped.grid.across),
                allow_pickle=False,
            )
        height, width = mapped.picture.shape[:2]
        entry = {"name": mapped.name, "id": mapped.item, "score": round(mapped.score, 6), "overlay": f"{stem}.png"}
        entries.append({**entry, "width": width, "height": height, "boxes": [asdict(box) for box in boxes]})
    write_whole(folder / "sheet.csv", _sheet(entries, rest))
    write_whole(folder / "boxes.json", _text(entries))
    write_whole(folder / "coco.json", _text(as_coco(entries)))
    return {"n_maps": len(entries), "n_boxes": sum(len(entry["boxes"]) for entry in entries)}


def _remove_earlier(folder: Path) -> None:
    sheet = folder / "sheet.csv"
    if not sheet.exists():
        return
    with sheet.open(encoding="utf-8", errors="replace", newline="") as file:
        overlays = [Path(row["overlay"]).name for row in csv.DictReader(file) if row.get("overlay")]
    for name in overlays:
        for suffix in (".png", ".npy"):
            (folder / name).with_suffix(suffix).unlink(missing_ok=True)


def _sheet(entries: Sequence[dict[str, Any]], rest: Sequence[ScoredPicture]) -> bytes:
    """A line for each picture: file, id, score, alarm, boxes as 'x y width height' in its pixels, and the overlay."""
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(["file", "id", "score", "alarm", "boxes", "overlay"])
    for entry in entries:
        boxes = "; ".join("{x} {y} {width} {height}".format(**box) for box in entry["boxes"])
        writer.writerow([entry["name"], entry["id"], entry["score"], "yes", boxes, entry["overlay"]])
    writer.writerows([each.name, each.item, round(each.score, 6), "no", "", ""] for each in rest)
    return lines.getvalue().encode()


def as_coco(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Boxes in the form of COCO's detections: images, categories, annotations with a score each."""
    images = [
        {"id": number, "file_name": entry["name"], "width": entry["width"], "height": entry["height"]}
        for number, entry in enumerate(entries, start=1)
    ]
    boxes = [(number, box) for number, entry in enumerate(entries, start=1) for box in entry["boxes"]]
    annotations = [
        {
            "id": at,
            "image_id": number,
            "category_id": CATEGORY["id"],
            "bbox": [box["x"], box["y"], box["width"], box["height"]],
            "area": box["width"] * box["height"],
            "iscrowd": 0,
            "score": box["peak"],
        }
        for at, (number, box) in enumerate(boxes, start=1)
    ]
    return {"images": images, "categories": [CATEGORY], "annotations": annotations}


def _contour(drawn: Floats, beyond: Booleans, thick: int) -> None:
    """Draws a light line and a dark one around the places (H, W) beyond the limit, at a distance that hides nothing."""
    from scipy.ndimage import binary_dilation

    if beyond.any():
        inner, middle, outer = (binary_dilation(beyond, iterations=n * thick) for n in (GAP, GAP + 1, GAP + 2))
        drawn[middle & ~inner] = LIGHT
        drawn[outer & ~middle] = DARK


def _text(content: Any) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
