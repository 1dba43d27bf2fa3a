"""Label Studio's JSON: a list of tasks, each with its annotations. Decisions are its ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from soel.checks import clean_name
from soel.errors import LabelError
from soel.session import Answer, Session, SessionState, TellResult, read_verdict
from soel.session.marks import Mark, Region, read_mark
from soel.types import Verdict

ITEM, LABEL, NOTE, MARK = "item_id", "label", "note", "mark"  # data field, and the names of the controls
POINT_WIDTH = 1.0  # percent of the picture's width that a point is drawn with


def as_tasks(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One task per item, in the order of the first entry on it."""
    by_item: dict[str, list[Entry]] = {}
    for entry in entries:
        by_item.setdefault(entry.item, []).append(entry)
    return [
        {"id": number, "data": {ITEM: item}, "annotations": [_annotation(entry) for entry in own]}
        for number, (item, own) in enumerate(by_item.items(), start=1)
    ]


def read_tasks(tasks: Sequence[Any]) -> list[Entry]:
    """What the annotations say."""
    entries: list[Entry] = []
    for number, task in enumerate(tasks, start=1):
        try:
            item = _item_of(task["data"])
            for annotation in task.get("annotations", []):
                found = (_read_annotation(item, annotation), _read_mark(item, annotation))
                entries += [entry for entry in found if entry is not None]
        except LabelError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise LabelError(
                f"Task {number} is not one of Label Studio with a field {ITEM!r} in its data "
                f"({type(error).__name__}: {error}); nothing was stored."
            ) from error
    return entries


def _annotation(entry: Entry) -> dict[str, Any]:
    result = []
    if entry.verdict not in (None, Verdict.SKIP):
        result.append(_control(LABEL, "choices", {"choices": [entry.verdict.value]}))
    if entry.note:
        result.append(_control(NOTE, "textarea", {"text": [entry.note]}))
    if entry.mark is not None:
        result += [_draw_region(region, entry.mark) for region in entry.mark.regions]
    return {
        "completed_by": {"email": entry.who},
        "created_at": entry.at,
        "was_cancelled": entry.verdict is Verdict.SKIP,
        "ground_truth": entry.kind is EntryKind.DECISION,
        "result": result,
    }


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


def _read_drawn(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """A region of Label Studio as one of ours; None for what is no region, or of a form that is not known."""
    value, kind = part["value"], part["type"]
    if kind.startswith("keypoint"):
        return {"shape": "point", "points": [_share(value["x"], value["y"])]}
    if kind.startswith("rectangle"):
        x, y = float(value["x"]), float(value["y"])
        corners = [_share(x, y), _share(x + float(value["width"]), y + float(value["height"]))]
        return {"shape": "box", "points": corners}
    if kind.startswith("polygon"):
        return {"shape": "polygon", "points": [_share(x, y) for x, y in value["points"]]}
    return None


def _share(x: float, y: float) -> tuple[float, float]:
    """Percents as shares, within the picture."""
    return min(max(float(x) / 100, 0.0), 1.0), min(max(float(y) / 100, 0.0), 1.0)


def _read_mark(item: str, annotation: Mapping[str, Any]) -> Entry | None:
    """What an annotation draws; None where it draws nothing."""
    parts = [(part, region) for part in annotation["result"] if (region := _read_drawn(part)) is not None]
    if not parts:
        return None
    who, at = _name(annotation.get("completed_by")), str(annotation.get("created_at") or "")
    size = {"width": parts[0][0]["original_width"], "height": parts[0][0]["original_height"]}
    return Entry(item, None, "", who, at, EntryKind.MARK, read_mark(who, {"regions": [r for _, r in parts], **size}))


def _read_annotation(item: str, annotation: Mapping[str, Any]) -> Entry | None:
    """What one annotation says; None where it says nothing."""
    verdict, note = None, ""
    for part in annotation["result"]:
        if part["type"] == "choices":
            verdict = read_verdict(str(part["value"]["choices"][0]))
        elif part["type"] == "textarea":
            note = str(part["value"]["text"][0])
    if annotation.get("was_cancelled"):
        verdict = Verdict.SKIP
    if verdict is None and not note:
        return None
    who, at = _name(annotation.get("completed_by")), str(annotation.get("created_at") or "")
    if verdict is None:
        return Entry(item, None, note, who, at, EntryKind.NOTE)
    is_decision = bool(annotation.get("ground_truth")) and verdict.label is not None
    return Entry(item, verdict, note, who, at, EntryKind.DECISION if is_decision else EntryKind.ANSWER)


def _item_of(data: Mapping[str, Any]) -> str:
    return str(data[ITEM] if ITEM in data else data["id"])


def _name(person: Any) -> str:
    """Label Studio names people by an account with an e-mail address, or by a number."""
    if isinstance(person, Mapping):
        named = person.get("email") or person.get("username") or person.get("first_name")
        return str(named or person.get("id") or "")
    return "" if person is None else f"annotator {person}"


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
    return Entry(_item_of_image(image), None, "", who, "", EntryKind.MARK, read_mark(who, body))


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
    return None if word is None else Entry(_item_of_image(image), read_verdict(str(word)), "", "", "")


def _item_of_image(image: Mapping[str, Any]) -> str:
    return str(image.get("item_id") or image["file_name"])


class EntryKind(StrEnum):
    """Whose word it is: an annotator's answer, the owner's decision, a note without a verdict, or what was drawn."""

    ANSWER = "answer"
    DECISION = "decision"
    NOTE = "note"
    MARK = "mark"


@dataclass(frozen=True)
class Entry:
    """One person's word on an item. verdict: None for a note or a mark. at: when, if known. mark: what was drawn."""

    item: str
    verdict: Verdict | None
    note: str
    who: str
    at: str
    kind: EntryKind = EntryKind.ANSWER
    mark: Mark | None = None


def list_entries(state: SessionState) -> list[Entry]:
    """Everything that stands: each annotator's newest answer, the owner's decisions, notes, marks; oldest first."""
    numbered: list[tuple[int, Entry]] = []
    for item, answered in state.answers.items():
        numbered += [(v.number, Entry(item, v.verdict, v.note, v.who, v.at)) for v in answered.votes]
        if (ruled := answered.decision) is not None:
            numbered.append((ruled.number, Entry(item, ruled.verdict, "", ruled.who, ruled.at, EntryKind.DECISION)))
    for item, notes in state.written_notes.items():
        numbered += [(n.number, Entry(item, None, n.text, n.who, n.at, EntryKind.NOTE)) for n in notes if n.text]
    for item, marks in state.marks.items():
        numbered += [(m.number, Entry(item, None, "", m.who, m.at, EntryKind.MARK, m)) for m in marks]
    return [entry for _, entry in sorted(numbered, key=lambda pair: pair[0])]


def store_entries(session: Session, entries: Sequence[Entry], who: str | None = None) -> TellResult:
    """Store these entries, all or none. who: in place of the names they carry."""
    named = [(clean_name(who or entry.who or "expert"), entry) for entry in entries]
    answers, decisions, notes, marks = [], [], [], []
    for name, entry in named:
        if entry.mark is not None:
            marks.append((entry.item, replace(entry.mark, who=name)))
        elif entry.verdict is None:
            notes.append((name, entry.item, entry.note))
        elif entry.kind is EntryKind.DECISION:
            decisions.append((name, entry.item, entry.verdict.value))
        else:
            answers.append((name, Answer(entry.item, entry.verdict, entry.note or None)))
    return session.take_in(answers, decisions, notes, marks)


def grow_budget(session: Session, before: SessionState) -> None:
    """Let the budget grow by what was labelled since without having been asked: it is for questions."""
    now, asked = session.state, {*before.open, *(item for item, held in before.answers.items() if held.is_settled)}
    n_new = sum(held.is_settled and item not in asked for item, held in now.answers.items())
    more = min(n_new, session.folder.n_items - now.budget)
    if more > 0:
        session.extend(more)


def read_kind(word: str) -> EntryKind:
    """The kind that a word stands for; nothing means an answer."""
    plain = word.strip().lower() or EntryKind.ANSWER
    if plain in set(EntryKind):
        return EntryKind(plain)
    raise LabelError(f"{word!r} is not a kind of entry. Use answer, decision, note or mark.")
