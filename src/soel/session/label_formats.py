"""Labels in the forms of other tools: Label Studio's tasks, where decisions are the ground truth, and COCO's pictures.

Both say what stands as events: answers, decisions, notes and marks, each with its item, annotator and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from soel.errors import LabelError
from soel.records import body_of
from soel.session.events import Answer, Event, decision_on, read_names, read_verdict, verdict_of
from soel.session.marks import Mark, Region, read_mark
from soel.types import Verdict

ITEM, LABEL, NOTE, MARK, BECAUSE = (
    "item_id",
    "label",
    "note",
    "mark",
    "because",
)  # data field, and the names of the controls
POINT_WIDTH = 1.0  # percent of the picture's width that a point is drawn with
CATEGORY = {"id": 1, "name": "anomaly", "supercategory": "anomaly", "keypoints": ["place"], "skeleton": []}
VISIBLE = 2  # a keypoint that can be seen


def as_tasks(events: Sequence[Event]) -> list[dict[str, Any]]:
    """One task of Label Studio per item, in the order of the first event on it."""
    by_item: dict[str, list[Event]] = {}
    for event in events:
        by_item.setdefault(str(event.item), []).append(event)
    return [
        {"id": number, "data": {ITEM: item}, "annotations": [_annotation(event) for event in own]}
        for number, (item, own) in enumerate(by_item.items(), start=1)
    ]


def read_tasks(tasks: Sequence[Any]) -> list[Event]:
    """What the annotations of Label Studio's tasks say."""
    events: list[Event] = []
    for number, task in enumerate(tasks, start=1):
        with _explaining(f"Task {number} is not one of Label Studio with a field {ITEM!r} in its data"):
            data = task["data"]
            item = str(data[ITEM] if ITEM in data else data["id"])
            for annotation in task.get("annotations", []):
                events += [*_read_words(item, annotation), *_read_drawn(item, annotation)]
    return events


@contextmanager
def _explaining(what: str) -> Iterator[None]:
    try:
        yield
    except LabelError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise LabelError(f"{what} ({type(error).__name__}: {error}); nothing was stored.") from error


def _annotation(event: Event) -> dict[str, Any]:
    result, verdict = [], verdict_of(event)
    if verdict not in (None, Verdict.SKIP):
        result.append(_control(LABEL, "choices", {"choices": [verdict.value]}))
    if event.body.get("note"):
        result.append(_control(NOTE, "textarea", {"text": [event.body["note"]]}))
    if event.body.get("because"):
        result.append(_control(BECAUSE, "textarea", {"text": event.body["because"]}))
    if event.kind == "mark":
        mark = read_mark(event.who, event.body)
        result += [_draw_region(region, mark) for region in mark.regions]
    return {
        "completed_by": {"email": event.who},
        "created_at": event.at,
        "was_cancelled": verdict is Verdict.SKIP,
        "ground_truth": event.kind == "decide",
        "result": result,
    }


def _read_words(item: str, annotation: Mapping[str, Any]) -> list[Event]:
    """The answer, decision or note of one annotation, if it says anything."""
    verdict, note, because = None, "", None
    for part in annotation["result"]:
        if part.get("from_name") == BECAUSE:
            because = read_names(part["value"]["text"])
        elif part["type"] == "choices":
            verdict = read_verdict(str(part["value"]["choices"][0]))
        elif part["type"] == "textarea":
            note = str(part["value"]["text"][0])
    if annotation.get("was_cancelled"):
        verdict = Verdict.SKIP
    who, at = _name(annotation.get("completed_by")), str(annotation.get("created_at") or "")
    if verdict is None:
        return [Event("note", who, item, {"note": note}, at=at)] if note else []
    if annotation.get("ground_truth") and verdict.label is not None:
        return [decision_on(item, verdict, who, at)]
    return [Answer(item, verdict, note or None, because=because).event(who, at)]


def _read_drawn(item: str, annotation: Mapping[str, Any]) -> list[Event]:
    """What an annotation draws, if it does."""
    parts = [(part, region) for part in annotation["result"] if (region := _read_region(part)) is not None]
    if not parts:
        return []
    who, at = _name(annotation.get("completed_by")), str(annotation.get("created_at") or "")
    size = {"width": parts[0][0]["original_width"], "height": parts[0][0]["original_height"]}
    mark = read_mark(who, {"regions": [region for _, region in parts], **size})
    return [Event("mark", who, item, body_of(mark), at=at)]


def _control(name: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"from_name": name, "to_name": "item", "type": kind, "value": dict(value)}


def _draw_region(region: Region, mark: Mark) -> dict[str, Any]:
    """A region in percent of the picture; a brush becomes the polygon around its path."""
    size = {"original_width": mark.width, "original_height": mark.height, "image_rotation": 0}
    if region.shape == "point":
        (x, y), kind = region.points[0], "keypointlabels"
        value: dict[str, Any] = {"x": 100 * x, "y": 100 * y, "width": POINT_WIDTH}
    elif region.shape == "box":
        (x1, y1), (x2, y2), kind = *region.points, "rectanglelabels"
        value = {"x": 100 * min(x1, x2), "y": 100 * min(y1, y2), "rotation": 0}
        value |= {"width": 100 * abs(x2 - x1), "height": 100 * abs(y2 - y1)}
    else:
        corners = (region.outline(mark.width, mark.height) / [mark.width, mark.height]).clip(0, 1)
        value, kind = {"points": (100 * corners).tolist(), "closed": True}, "polygonlabels"
    return _control(MARK, kind, value | {kind: ["anomaly"]}) | size


def _read_region(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """A region of Label Studio as one of ours; None for what is no region, or of a form that is not known."""
    value, kind = part["value"], part["type"]
    if kind.startswith("keypoint"):
        return {"shape": "point", "points": [_percents(value["x"], value["y"])]}
    if kind.startswith("rectangle"):
        x, y = float(value["x"]), float(value["y"])
        corners = [_percents(x, y), _percents(x + float(value["width"]), y + float(value["height"]))]
        return {"shape": "box", "points": corners}
    if kind.startswith("polygon"):
        return {"shape": "polygon", "points": [_percents(x, y) for x, y in value["points"]]}
    return None


def _percents(x: float, y: float) -> tuple[float, float]:
    """Percents as shares, within the picture."""
    return min(max(float(x) / 100, 0.0), 1.0), min(max(float(y) / 100, 0.0), 1.0)


def _name(person: Any) -> str:
    """Label Studio names people by an account with an e-mail address, or by a number."""
    if isinstance(person, Mapping):
        named = person.get("email") or person.get("username") or person.get("first_name")
        return str(named or person.get("id") or "")
    return "" if person is None else f"annotator {person}"


def as_coco(events: Sequence[Event], names: Mapping[str, str]) -> dict[str, Any]:
    """The pictures that something was said of, and what was drawn on them. names: of their files, by item."""
    items = list(dict.fromkeys(str(event.item) for event in events))
    images: dict[str, dict[str, Any]] = {
        item: {"id": number, "file_name": str(names.get(item, item)), "item_id": item}
        for number, item in enumerate(items, start=1)
    }
    annotations: list[dict[str, Any]] = []
    for event in events:
        image, verdict = images[str(event.item)], verdict_of(event)
        if event.kind == "mark":
            mark = read_mark(event.who, event.body)
            image |= {"width": mark.width, "height": mark.height}
            who = {"image_id": image["id"], "category_id": CATEGORY["id"], "iscrowd": 0, "who": event.who}
            annotations += [who | _shape(region, mark) for region in mark.regions]
        elif verdict is not None and verdict.label is not None:
            image["label"] = verdict.value
    numbered = [{"id": number} | each for number, each in enumerate(annotations, start=1)]
    return {"images": list(images.values()), "categories": [CATEGORY], "annotations": numbered}


def read_coco(content: Mapping[str, Any]) -> list[Event]:
    """A mark for each picture with annotations, and its label: as it is said, else anomaly, since something is marked.

    Pictures are known by `item_id`, or by the name of their file where that is the id.
    """
    with _explaining("These are no annotations of COCO with images, width and height"):
        images = {image["id"]: image for image in content["images"]}
        drawn: dict[tuple[Any, str], list[Any]] = {}
        for each in content["annotations"]:
            drawn.setdefault((each["image_id"], str(each.get("who") or "")), []).append(each)
        marked, events = {number for number, _ in drawn}, list[Event]()
        for number, image in images.items():
            word = image.get("label") or ("anomaly" if number in marked else None)
            if word is not None:
                events.append(Answer(_item_of(image), read_verdict(str(word))).event(""))
        for (number, who), own in drawn.items():
            size = int(images[number]["width"]), int(images[number]["height"])
            regions = [region for each in own for region in _read_shape(each, *size)]
            mark = read_mark(who, {"regions": regions, "width": size[0], "height": size[1]})
            events.append(Event("mark", who, _item_of(images[number]), body_of(mark)))
        return events


def _item_of(image: Mapping[str, Any]) -> str:
    return str(image.get("item_id") or image["file_name"])


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
