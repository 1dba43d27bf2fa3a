"""COCO's form of what was drawn: pictures, and regions in their pixels. Whole answers come along as `label`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from soel.errors import LabelError
from soel.session import read_verdict
from soel.session.exchange.entries import Entry, EntryKind
from soel.session.marks import Mark, Region, read_mark
from soel.types import Verdict

CATEGORY = {"id": 1, "name": "anomaly", "supercategory": "anomaly", "keypoints": ["place"], "skeleton": []}
VISIBLE = 2  # a keypoint that can be seen


def as_coco(entries: Sequence[Entry], names: Mapping[str, str]) -> dict[str, Any]:
    """The pictures that something was said of, and what was drawn on them. names: of their files, by item."""
    items = list(dict.fromkeys(entry.item for entry in entries))
    number_of = {item: number for number, item in enumerate(items, start=1)}
    images = [{"id": number_of[item], "file_name": str(names.get(item, item)), "item_id": item} for item in items]
    annotations: list[dict[str, Any]] = []
    for entry in entries:
        image = images[number_of[entry.item] - 1]
        if entry.mark is not None:
            image |= {"width": entry.mark.width, "height": entry.mark.height}
            who = {"image_id": image["id"], "category_id": CATEGORY["id"], "iscrowd": 0, "who": entry.who}
            annotations += [who | _shape(region, entry.mark) for region in entry.mark.regions]
        elif entry.verdict is not None and entry.verdict.label is not None:
            image["label"] = entry.verdict.value
    numbered = [{"id": number} | each for number, each in enumerate(annotations, start=1)]
    return {"images": images, "categories": [CATEGORY], "annotations": numbered}


def read_coco(content: Mapping[str, Any]) -> list[Entry]:
    """A mark for each picture with annotations, and its label: as it is said, else anomaly, since something is marked.

    Pictures are known by `item_id`, or by the name of their file where that is the id.
    """
    try:
        images = {image["id"]: image for image in content["images"]}
        drawn: dict[tuple[Any, str], list[dict[str, Any]]] = {}
        for each in content["annotations"]:
            drawn.setdefault((each["image_id"], str(each.get("who") or "")), []).append(each)
        marks = [_read_image(images[image], own, who) for (image, who), own in drawn.items()]
        labels = [_read_label(image, {number for number, _ in drawn}) for image in images.values()]
    except LabelError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise LabelError(
            f"These are no annotations of COCO with images, width and height ({type(error).__name__}: {error}); "
            "nothing was stored."
        ) from error
    return [entry for entry in labels if entry is not None] + marks


def _shape(region: Region, mark: Mark) -> dict[str, Any]:
    """A region in pixels: its box and outline; a point as a keypoint, since it has no area."""
    outline = region.outline(mark.width, mark.height).clip(0, [mark.width, mark.height])
    (left, top), (right, bottom) = outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
    if region.shape == "point":
        return {"bbox": [left, top, 0, 0], "area": 0, "keypoints": [left, top, VISIBLE], "num_keypoints": 1}
    shape: dict[str, Any] = {"bbox": [left, top, right - left, bottom - top], "area": _area(outline)}
    return shape if region.shape == "box" else shape | {"segmentation": [outline.ravel().round(2).tolist()]}


def _area(corners: np.ndarray) -> float:
    x, y = corners.T
    return round(abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2, 2)


def _read_image(image: Mapping[str, Any], annotations: Sequence[Mapping[str, Any]], who: str) -> Entry:
    size = int(image["width"]), int(image["height"])
    regions = [region for each in annotations for region in _read_shape(each, *size)]
    body = {"regions": regions, "width": size[0], "height": size[1]}
    return Entry(_item_of(image), None, "", who, "", EntryKind.MARK, read_mark(who, body))


def _read_shape(each: Mapping[str, Any], width: int, height: int) -> list[dict[str, Any]]:
    def share(x: float, y: float) -> tuple[float, float]:
        return min(max(x / width, 0.0), 1.0), min(max(y / height, 0.0), 1.0)

    outlines = each.get("segmentation")
    if isinstance(outlines, list) and outlines:
        pairs = [list(zip(outline[::2], outline[1::2], strict=True)) for outline in outlines]
        return [{"shape": "polygon", "points": [share(x, y) for x, y in corners]} for corners in pairs]
    x, y, wide, tall = (float(value) for value in each["bbox"])
    if not wide and not tall:
        return [{"shape": "point", "points": [share(x, y)]}]
    return [{"shape": "box", "points": [share(x, y), share(x + wide, y + tall)]}]


def _read_label(image: Mapping[str, Any], marked: set[Any]) -> Entry | None:
    """What a file says of a whole picture; one that something is marked in is an anomaly."""
    word = image.get("label") or (Verdict.ANOMALY if image["id"] in marked else None)
    return None if word is None else Entry(_item_of(image), read_verdict(str(word)), "", "", "")


def _item_of(image: Mapping[str, Any]) -> str:
    return str(image.get("item_id") or image["file_name"])
