"""Label Studio's JSON: a list of tasks, each with its annotations. Decisions are its ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soel.errors import LabelError
from soel.session.exchange import Said

ITEM, LABEL, NOTE = "item_id", "label", "note"  # data field, and the names of the two controls


def as_tasks(said: Sequence[Said]) -> list[dict[str, Any]]:
    """One task per item, in the order of the first word on it."""
    by_item: dict[str, list[Said]] = {}
    for each in said:
        by_item.setdefault(each.item, []).append(each)
    return [
        {"id": number, "data": {ITEM: item}, "annotations": [_annotation(each) for each in words]}
        for number, (item, words) in enumerate(by_item.items(), start=1)
    ]


def read_tasks(tasks: Sequence[Any]) -> list[Said]:
    """What the annotations say."""
    said: list[Said] = []
    for number, task in enumerate(tasks, start=1):
        try:
            item = _item_of(task["data"])
            words = [_said(item, annotation) for annotation in task.get("annotations", [])]
            said += [each for each in words if each is not None]
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise LabelError(
                f"Task {number} is not one of Label Studio with a field {ITEM!r} in its data "
                f"({type(error).__name__}: {error}); nothing was stored."
            ) from error
    return said


def _annotation(said: Said) -> dict[str, Any]:
    result = []
    if said.label and said.label != "skip":
        result.append(_control(LABEL, "choices", {"choices": [said.label]}))
    if said.note:
        result.append(_control(NOTE, "textarea", {"text": [said.note]}))
    return {
        "completed_by": {"email": said.who},
        "created_at": said.at,
        "was_cancelled": said.label == "skip",
        "ground_truth": said.kind == "decision",
        "result": result,
    }


def _control(name: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"from_name": name, "to_name": "item", "type": kind, "value": dict(value)}


def _said(item: str, annotation: Mapping[str, Any]) -> Said | None:
    """What one annotation says; None where it says nothing."""
    label, note = "", ""
    for part in annotation["result"]:
        if part["type"] == "choices":
            label = str(part["value"]["choices"][0])
        elif part["type"] == "textarea":
            note = str(part["value"]["text"][0])
    if annotation.get("was_cancelled"):
        label = "skip"
    if not label and not note:
        return None
    who, at = _name(annotation.get("completed_by")), str(annotation.get("created_at") or "")
    ruled = bool(annotation.get("ground_truth")) and label not in ("skip", "unsure")
    return Said(item, label, note, who, at, "note" if not label else "decision" if ruled else "answer")


def _item_of(data: Mapping[str, Any]) -> str:
    return str(data[ITEM] if ITEM in data else data["id"])


def _name(person: Any) -> str:
    """Label Studio names people by an account with an e-mail address, or by a number."""
    if isinstance(person, Mapping):
        named = person.get("email") or person.get("username") or person.get("first_name")
        return str(named or person.get("id") or "")
    return "" if person is None else f"annotator {person}"
