"""Label Studio's JSON: a list of tasks, each with its annotations. Decisions are its ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soel.errors import LabelError
from soel.session import read_verdict
from soel.session.exchange.entries import Entry, EntryKind
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
